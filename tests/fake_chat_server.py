"""A language model's server on this machine that answers well, or as badly as it is told to. More of `fake_embedding_server`."""

from __future__ import annotations

import json
from collections.abc import Callable

from fake_embedding_server import Behaviour, FakeServer, Handler


def completion(content: object, **changed: object) -> bytes:
    """An answer in OpenAI's shape; `changed` are fields of the choice, or the `usage`."""
    usage = changed.pop("usage", {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120})
    words = content if isinstance(content, str) else json.dumps(content)
    choice = {"index": 0, "message": {"role": "assistant", "content": words}, "finish_reason": "stop", **changed}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def says(content: object, **changed: object) -> Behaviour:
    return lambda handler, body: handler.answer(completion(content, **changed))


class FakeChat(FakeServer):
    """`reply`: what it says to a request's body when the script is over."""

    def __init__(self, reply: Callable[[dict], object] = lambda body: "yes", tls=None) -> None:
        super().__init__(tls=tls)
        self.RequestHandlerClass = ChatHandler
        self.reply = reply


class ChatHandler(Handler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.server.script:
            self.server.script.pop(0)(self, body)
        else:
            self.answer(completion(self.server.reply(body)))
