"""Every error recollect raises: what happened, what was seen, what to do next.

One base class, one class per situation. Each also derives from the built-in that people already catch, so
`except ValueError` keeps working. The docstring is the default message; a longer one names the value that was
given and the cure.
"""


class RecollectError(Exception):
    """Something in recollect went wrong."""

    code = "error"

    def __init__(self, message: str | None = None, *, hint: str = "") -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.hint = hint
        super().__init__(f"{self.message} {hint}".strip())


class InvalidRecord(RecollectError, ValueError):
    """What was handed in to be remembered can't be stored as it is."""

    code = "invalid_record"


class InvalidQuery(RecollectError, ValueError):
    """The question or one of its limits can't be used as it is."""

    code = "invalid_query"


class InvalidRecipe(RecollectError, ValueError):
    """The recipe can't be read, or one of its fields is out of range."""

    code = "invalid_recipe"


class InvalidSetting(RecollectError, ValueError):
    """A setting is unknown or out of range."""

    code = "invalid_setting"


class InvalidVector(RecollectError, ValueError):
    """A vector is not a finite, non-zero list of numbers of the right length."""

    code = "invalid_vector"


class InvalidDataset(RecollectError, ValueError):
    """The evaluation data can't be used as it is."""

    code = "invalid_dataset"


class ScopeRequired(RecollectError, PermissionError):
    """No scope, no data: name an owner."""

    code = "scope_required"


class UnknownRecord(RecollectError, LookupError):
    """No such record in this scope."""

    code = "unknown_record"


class DuplicateRecord(RecollectError, ValueError):
    """A record with this id is already there and differs."""

    code = "duplicate_record"


class NotADatabase(RecollectError, ValueError):
    """The file is not a recollect database."""

    code = "not_a_database"


class NewerSchema(RecollectError, RuntimeError):
    """The database was written by a newer recollect."""

    code = "newer_schema"


class StoreUnavailable(RecollectError, OSError):
    """The store can't be opened, read or written just now."""

    code = "store_unavailable"


class StoreBusy(StoreUnavailable):
    """Another process kept the store locked for longer than we wait."""

    code = "store_busy"


class StoreReadOnly(StoreUnavailable, PermissionError):
    """The store can be read but not written."""

    code = "store_read_only"


class StoreClosed(StoreUnavailable):
    """This memory was closed; open it again."""

    code = "store_closed"


class MissingExtra(RecollectError, ImportError):
    """An optional dependency is not installed."""

    code = "missing_extra"


class UnknownEmbedder(RecollectError, ValueError):
    """No embedder of this name."""

    code = "unknown_embedder"


class ModelNotInstalled(RecollectError, FileNotFoundError):
    """The model's files are not on this machine yet."""

    code = "model_not_installed"


class ModelDamaged(RecollectError, OSError):
    """A model file is not the file we know: its checksum differs."""

    code = "model_damaged"


class EmbedderFailed(RecollectError, RuntimeError):
    """The embedder could not turn text into vectors."""

    code = "embedder_failed"


class EmbedderRefused(EmbedderFailed):
    """The embedder will not take one of these texts; trying it again is of no use, others it may take."""

    code = "embedder_refused"


class NothingKnown(EmbedderRefused):
    """The model knows no word of this text: there is nothing to compare, and nothing is broken."""

    code = "nothing_known"


class EmbedderTimeout(EmbedderFailed, TimeoutError):
    """The embedder did not answer within its deadline."""

    code = "embedder_timeout"


class EmbedderResting(EmbedderFailed):
    """The embedder failed repeatedly and is left alone for a while (circuit open)."""

    code = "embedder_resting"


class ChatFailed(RecollectError, RuntimeError):
    """The language model could not be asked, or answered with something else."""

    code = "chat_failed"


class ChatUnusable(ChatFailed):
    """The language model answered with something else than was asked for."""

    code = "chat_unusable"


class ChatRefused(ChatFailed):
    """The language model will not answer this; asking again is of no use."""

    code = "chat_refused"


class ChatTimeout(ChatFailed, TimeoutError):
    """The language model did not answer within its deadline."""

    code = "chat_timeout"


class ChatResting(ChatFailed):
    """The language model failed repeatedly and is left alone for a while (circuit open)."""

    code = "chat_resting"


class BudgetSpent(ChatFailed):
    """The budget of tokens for language models is spent."""

    code = "budget_spent"


class UnknownReranker(RecollectError, ValueError):
    """No reranker of this name."""

    code = "unknown_reranker"


class RerankerFailed(RecollectError, RuntimeError):
    """The reranker could not judge the texts."""

    code = "reranker_failed"


class RerankerRefused(RerankerFailed):
    """The reranker will not take the question or one of the texts; trying it again is of no use."""

    code = "reranker_refused"


class RerankerTimeout(RerankerFailed, TimeoutError):
    """The reranker did not answer within its deadline."""

    code = "reranker_timeout"


class RerankerResting(RerankerFailed):
    """The reranker failed repeatedly and is left alone for a while (circuit open)."""

    code = "reranker_resting"


class UnknownIndex(RecollectError, ValueError):
    """No index of this kind."""

    code = "unknown_index"


class IndexFailed(RecollectError, RuntimeError):
    """An index beside the store could not do what it was asked."""

    code = "index_failed"


class IndexTimeout(IndexFailed, TimeoutError):
    """An index beside the store did not answer within its deadline."""

    code = "index_timeout"


class IndexResting(IndexFailed):
    """An index beside the store failed repeatedly and is left alone for a while (circuit open)."""

    code = "index_resting"


class RecordChanged(RecollectError, RuntimeError):
    """The record is no longer what the caller took it for."""

    code = "record_changed"


class InvalidRequest(RecollectError, ValueError):
    """The request can't be understood."""

    code = "invalid_request"


class NotAuthenticated(RecollectError, PermissionError):
    """A valid access token is needed."""

    code = "not_authenticated"


class NotAllowed(RecollectError, PermissionError):
    """The access token does not allow this."""

    code = "not_allowed"


class NotFound(RecollectError, LookupError):
    """There is nothing at this address."""

    code = "not_found"


class WrongMethod(RecollectError, LookupError):
    """This address does not take this method."""

    code = "wrong_method"


class TooLarge(RecollectError, ValueError):
    """The request is larger than the server takes."""

    code = "too_large"


class TooManyRequests(RecollectError, RuntimeError):
    """This access token asks more often than it may."""

    code = "too_many_requests"


class KeyInUse(RecollectError, RuntimeError):
    """A request with this idempotency key is being answered."""

    code = "key_in_use"


class KeyReused(RecollectError, ValueError):
    """This idempotency key came with another request before."""

    code = "key_reused"


class Overloaded(RecollectError, RuntimeError):
    """Too much is to be done at once."""

    code = "overloaded"


class TookTooLong(RecollectError, TimeoutError):
    """The answer was not ready within the time a request may take."""

    code = "took_too_long"
