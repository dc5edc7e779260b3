"""The language model: what is sent, what is believed of the answer, what it may cost, and how it fails."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from fake_chat_server import FakeChat, completion, says
from fake_embedding_server import close_mid_body, hang_up, stall, text

from recollect.chat import ANSWER, Budget, Chat
from recollect.errors import BudgetSpent, ChatFailed, ChatRefused, ChatResting, ChatTimeout, InvalidSetting
from recollect.opening import open_chat
from recollect.remote import Patience, Remote, Troubles
from recollect.settings import Settings, load
from recollect.stores import open_store

SCHEMA = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"], "additionalProperties": False}
NOON = 20_000 * 86_400.0 + 43_200


@pytest.fixture
def server():
    with FakeChat() as server:
        yield server


def chat_with(server, *, most: int | None = None, timeout: float = 5.0, notes=None, wall=lambda: NOON, **patience) -> Chat:
    quick = Patience(**{"attempts": 3, "first_pause": 0.001, **patience})
    troubles = Troubles(ChatFailed, ChatRefused, ChatTimeout, ChatResting)
    remote = Remote(
        server.url + "/v1", who="chat", headers={"Authorization": "Bearer secret-key-1"}, patience=quick, troubles=troubles
    )
    return Chat("m", base_url=server.url + "/v1", budget=Budget(most, wall, notes), timeout=timeout, remote=remote)


def test_a_question_is_one_request_in_openai_s_words(server):
    server.script = [says({"who": "Priya"})]
    said = chat_with(server).ask("Find the name.", "Priya called.", schema=SCHEMA, answer=50, key="k1")
    assert (said.data, said.tokens) == ({"who": "Priya"}, 120)
    ((path, headers, body),) = server.requests
    assert (
        path == "/v1/chat/completions"
        and headers["Idempotency-Key"] == "k1"
        and headers["Authorization"] == "Bearer secret-key-1"
    )
    assert body["messages"] == [{"role": "system", "content": "Find the name."}, {"role": "user", "content": "Priya called."}]
    assert body["response_format"] == {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
    assert (body["max_tokens"], body["temperature"]) == (50, 0)


def test_the_same_question_has_the_same_key_and_another_has_another(server):
    chat = chat_with(server)
    for asked in ("a", "a", "b"):
        chat.ask("task", asked)
    first, again, other = (headers["Idempotency-Key"] for _, headers, _ in server.requests)
    assert first == again != other and first.startswith("recollect-")


def test_text_is_text_and_a_fence_around_json_is_no_matter(server):
    server.script = [says("plain words"), says('```json\n{"who": "x"}\n```')]
    chat = chat_with(server)
    assert chat.ask("t", "a").text == "plain words" and chat.ask("t", "b", schema=SCHEMA).data == {"who": "x"}


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (text(b"<html>"), ChatFailed), (text(b"[]"), ChatFailed), (text(b"{}"), ChatFailed),
        (text(b'{"choices": [1]}'), ChatFailed),
        (says("not json"), ChatFailed), (says("[1, 2]"), ChatFailed), (says("[" * 100_000), ChatFailed), (says(""), ChatFailed),
        (says('{"who": "x"}', finish_reason="length"), ChatFailed),
        (lambda h, b: h.answer(completion("", message={"refusal": "I can't."})), ChatRefused),
        (text(b"too long", 400), ChatRefused), (text(b"who are you", 401), ChatFailed), (text(b"", 302), ChatFailed),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_an_error(server, behaviour, error):
    server.script = [behaviour]
    with pytest.raises(error) as raised:
        chat_with(server).ask("t", "x", schema=SCHEMA)
    assert "secret-key-1" not in str(raised.value)


def test_what_may_pass_is_tried_again_and_then_given_up(server):
    server.script = [text(b"busy", 503), close_mid_body, says("well")]
    assert chat_with(server).ask("t", "x").text == "well" and len(server.requests) == 3
    server.script = [text(b"down", 500)] * 3
    with pytest.raises(ChatFailed, match="failed 3 times"):
        chat_with(server).ask("t", "x")
    assert len(server.requests) == 6


def test_the_deadline_holds(server):
    server.script = [stall]
    with pytest.raises(ChatTimeout):
        chat_with(server, timeout=0.1).ask("t", "x")


def test_a_server_that_is_down_is_left_alone(server):
    chat = chat_with(server, attempts=1, failures=2, rest=60)
    server.script = [hang_up] * 4
    for _ in range(2):
        with pytest.raises(ChatFailed):
            chat.ask("t", "x")
    with pytest.raises(ChatResting):
        chat.ask("t", "x")


def test_a_question_that_does_not_fit_the_budget_is_not_sent(server):
    chat = chat_with(server, most=ANSWER + 500)
    chat.ask("t", "x")
    assert chat.budget.spent() == 120, "what it cost, not what was booked"
    with pytest.raises(BudgetSpent, match="left"):
        chat.ask("t", "long words " * 1000)
    with pytest.raises(BudgetSpent):
        chat_with(server, most=0).ask("t", "x", answer=1)
    assert len(server.requests) == 1 and chat.budget.spent() == 120


def test_an_answer_that_hides_its_cost_or_came_too_late_counts_in_full(server):
    chat = chat_with(server, most=100_000, timeout=0.2)
    server.script = [
        says("a", usage=None),
        says("b", usage={"total_tokens": "many"}),
        says("c", usage={"total_tokens": -5}),
        stall,
    ]
    for _ in range(3):
        assert chat.ask("t", "x").tokens > ANSWER
    before = chat.budget.spent()
    with pytest.raises(ChatTimeout):
        chat.ask("t", "x")
    assert chat.budget.spent() - before > ANSWER
    server.script = [text(b"down", 500)] * 3
    with pytest.raises(ChatFailed):
        chat_with(server).ask("t", "x")


def test_the_books_are_kept_in_the_store_for_all_processes_and_close_each_day(server, tmp_path):
    store = open_store(f"sqlite:///{tmp_path}/memory.db")
    try:
        now = [NOON]
        one, other = (chat_with(server, most=5_000, notes=store.notes, wall=lambda: now[0]) for _ in range(2))
        one.ask("t", "x")
        other.ask("t", "x")
        assert one.budget.spent() == other.budget.spent() == 240
        server.script = [says("x", usage={"total_tokens": 4_000})]
        one.ask("t", "x")
        with pytest.raises(BudgetSpent):
            other.ask("t", "x")
        now[0] += 86_400
        other.ask("t", "x")
        assert one.budget.spent() == 120
    finally:
        store.close()


def test_many_threads_never_spend_more_than_there_is(server):
    server.reply = lambda body: "fine"
    chat = chat_with(server, most=ANSWER * 3)

    def ask(number: int) -> bool:
        try:
            chat.ask("t", f"x{number}", answer=ANSWER // 2)
            return True
        except BudgetSpent:
            return False

    with ThreadPoolExecutor(8) as pool:
        asked = list(pool.map(ask, range(40)))
    assert sum(asked) == len(server.requests) and chat.budget.spent() == 120 * sum(asked) <= ANSWER * 3


def test_settings_name_the_model_and_a_key_goes_to_its_own_server_only(server):
    store = open_store("memory:")
    assert open_chat(Settings(), store) is None
    other = Settings(chat_model="m", chat_base_url=server.url, openai_api_key="sk-of-openai-only")
    open_chat(other, store).ask("t", "x")
    assert "Authorization" not in server.requests[0][1]
    with pytest.raises(InvalidSetting, match="API key"):
        open_chat(Settings(chat_model="m"), store)
    with pytest.raises(InvalidSetting, match="named"):
        Chat("", budget=Budget(1, lambda: 0.0))
    own = Chat("gpt", api_key="k", budget=Budget(1, lambda: 0.0))
    assert own.name == "gpt" and "max_completion_tokens" in own._body("t", "x", None, 5)
    assert "sk-secret" not in repr(Settings(chat_api_key="sk-secret"))


@pytest.mark.parametrize(("given", "kept"), [("1_000", 1000), ("0", 0), (50, 50)])
def test_the_budget_is_a_number_of_tokens(tmp_path, given, kept):
    assert load({"RECOLLECT_CHAT_BUDGET": str(given), "RECOLLECT_CONFIG": ""}).chat_budget == kept
    file = tmp_path / "r.toml"
    file.write_text(f"chat_budget = {json.dumps(given)}")
    assert load({}, str(file)).chat_budget == kept


def test_what_is_no_number_of_tokens_is_refused():
    for given in ("many", "-1", "1e9"):
        with pytest.raises(InvalidSetting, match="chat_budget"):
            load({"RECOLLECT_CHAT_BUDGET": given})
