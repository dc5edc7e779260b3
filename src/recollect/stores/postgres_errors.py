"""What psycopg and the server say when something is wrong, as our errors: what happened, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidRecord, RecollectError, StoreBusy, StoreReadOnly, StoreUnavailable

if TYPE_CHECKING:
    from .postgres_server import Server

URL_HINT = "Write postgresql://user:password@host:5432/database; in a password, @ is %40, : is %3A, / is %2F, # is %23."
GRANTS = (
    "GRANT USAGE ON SCHEMA recollect TO {user}; GRANT ALL ON ALL TABLES IN SCHEMA recollect TO {user}; "
    "GRANT ALL ON ALL SEQUENCES IN SCHEMA recollect TO {user};"
)
_CURES = (  # what the server says when it will not let us in, and the cure
    ("password authentication failed", "Check user and password in the URL; special characters are written as %40."),
    ("no password supplied", "Give a password in the URL, or in the file ~/.pgpass."),
    ("does not exist", "Create it (createdb NAME, createuser NAME), or name another in the URL."),
    ("pg_hba.conf", "The server lets nobody in from here: ask for a line in its pg_hba.conf."),
    ("too many clients", "Lower ?pool= in the URL, raise max_connections, or put PgBouncer in between."),
    ("remaining connection slots", "Lower ?pool= in the URL, raise max_connections, or put PgBouncer in between."),
    ("could not translate host", "Check host and port in the URL; several hosts are written host1:5432,host2:5432."),
    ("failed to resolve host", "Check host and port in the URL; several hosts are written host1:5432,host2:5432."),
    ("refused", "Is the server running, and does it listen on this host and port?"),
    ("No such file or directory", "Is the server running, and does it listen on this host and port?"),
    ("timeout", "The host does not answer: check its name, the network and the firewall."),
    ("invalid", URL_HINT),
)


def unreachable(error: Exception, name: str) -> RecollectError:
    """The server will not let us in."""
    said = " ".join(str(error).split())
    cure = next((cure for words, cure in _CURES if words in said), "Check the URL: postgresql://user:password@host:5432/database")
    busy = "too many clients" in said or "connection slots" in said
    return (StoreBusy if busy else StoreUnavailable)(f"{name} can't be opened ({said:.300}).", hint=cure)


def translated(error: Exception, server: Server) -> RecollectError:
    """An error in the middle of something."""
    if isinstance(error, UnicodeEncodeError):
        return InvalidRecord("A text holds half a surrogate pair.", hint="Clean it first: recollect.normalize.clean_text.")
    e, said = server.psycopg.errors, " ".join(str(error).split())[:300]
    if type(error).__name__ == "PoolTimeout":
        return _exhausted(server)
    if isinstance(error, e.InsufficientPrivilege):
        return StoreReadOnly(f"{server.name} does not let this user do it ({said}).", hint="Grant it: " + _grant(said, server))
    if isinstance(error, e.ReadOnlySqlTransaction):
        return StoreReadOnly(f"{server.name} only reads ({said}).", hint="It is a standby, or set to read only: name another.")
    if isinstance(error, (e.LockNotAvailable, e.DeadlockDetected, e.SerializationFailure, e.QueryCanceled)):
        return StoreBusy(f"{server.name} was kept busy by somebody else ({said}).", hint="Try again; nothing was written.")
    if isinstance(error, (e.DiskFull, e.OutOfMemory)):
        return StoreUnavailable(f"{server.name} can't be written ({said}).", hint="Make room; nothing acknowledged is lost.")
    if isinstance(error, e.NotNullViolation):
        return InvalidRecord(
            f"A record lacks what it needs ({said}).", hint="id, text, kind, role and recorded_at can't be empty."
        )
    if isinstance(error, (server.psycopg.DataError, e.IntegrityError, e.ProgramLimitExceeded)):
        return InvalidRecord(f"PostgreSQL can't keep this ({said}).", hint="No NUL characters, no numbers beyond 64 bits.")
    if isinstance(error, (e.UndefinedTable, e.InvalidSchemaName, e.UndefinedColumn)):
        return StoreUnavailable(f"{server.name} is no longer what it was ({said}).", hint="Restored? Open the memory again.")
    return StoreUnavailable(
        f"{server.name} does not answer ({said}).", hint="Nothing acknowledged is lost; try again when it is back."
    )


def _grant(said: str, server: Server) -> str:
    """What an administrator types for what this user lacks."""
    user = _quoted(server.user)
    if "for database" in said:
        return f"GRANT CREATE ON DATABASE {_quoted(server.database)} TO {user};"
    if "must be owner" in said:
        return "let the owner of the schema open it once with this version of recollect; it brings it up to date."
    return GRANTS.format(user=user)


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.islower() else '"' + name.replace('"', '""') + '"'


def _exhausted(server: Server) -> RecollectError:
    """No connection was to be had in time: is the server gone, or are all in use?"""
    try:
        server.reach()
    except StoreUnavailable as error:
        return error
    stats = server.pool.get_stats()
    return StoreBusy(
        f"All {stats.get('pool_max', '')} connections to {server.name} were in use for {server.wait:g} s.",
        hint="Allow more with ?pool=20 in the URL, or share one Memory among fewer threads.",
    )
