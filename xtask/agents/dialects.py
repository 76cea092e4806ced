"""The APIs that agents call a model by, as far as a scripted model needs them.

Each dialect knows how to read the conversation out of a request (`items`), whether the request is a turn
of an agent and not one of its side jobs (`is_turn`), and how to answer with one move (`answer`). A move is
`{"text": …}` or `{"tool": …, "arguments": …}`.
"""

import itertools
import json
from dataclasses import dataclass

numbers = itertools.count(1)


@dataclass
class Item:
    """A piece of a conversation. `by` is `user` (also what hooks add), `model` or `tool` (a result)."""

    by: str
    text: str


def sse(events):
    lines = []
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        lines.append(f"{name}data: {json.dumps(event)}\n\n")
    return "text/event-stream", "".join(lines)


def plain(value):
    return "application/json", json.dumps(value)


def text_of(content):
    """Text of a string, of a block with text, or of a list of those; anything else as JSON."""
    match content:
        case str():
            return content
        case {"text": str(text)}:
            return text
        case list():
            return "\n".join(map(text_of, content))
        case _:
            return json.dumps(content)


class Anthropic:
    """Messages: Claude Code."""

    path = "/v1/messages"

    @staticmethod
    def is_turn(request, path):
        return bool(request.get("tools")) and "count_tokens" not in path

    @staticmethod
    def items(request):
        for message in request["messages"]:
            content = message["content"]
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
            if message["role"] == "assistant":
                yield Item("model", json.dumps(blocks))
                continue
            for block in blocks:
                if block["type"] == "tool_result":
                    yield Item("tool", text_of(block.get("content", "")))
                else:
                    yield Item("user", text_of(block))

    @staticmethod
    def answer(move, request, path):
        if "count_tokens" in path:
            return plain({"input_tokens": 1})
        if "tool" in move:
            block = {"type": "tool_use", "id": f"toolu_{next(numbers)}", "name": move["tool"], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(move["arguments"])}
            why = "tool_use"
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": move["text"]}
            why = "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {
            "id": f"msg_{next(numbers)}", "type": "message", "role": "assistant", "model": request["model"],
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }
        if not request.get("stream"):
            whole = block | {"input": move["arguments"]} if "tool" in move else {"type": "text", "text": move["text"]}
            return plain(message | {"content": [whole], "stop_reason": why})
        return sse([
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ])


class Responses:
    """OpenAI's Responses: Codex."""

    path = "/v1/responses"

    @staticmethod
    def is_turn(request, path):
        return bool(request.get("tools"))

    @staticmethod
    def items(request):
        for item in request["input"]:
            match item["type"]:
                case "message":
                    by = "model" if item["role"] == "assistant" else "user"
                    yield Item(by, text_of(item["content"]))
                case "function_call_output" | "custom_tool_call_output":
                    yield Item("tool", text_of(item["output"]))
                case "function_call" | "custom_tool_call":
                    yield Item("model", json.dumps(item))

    @staticmethod
    def answer(move, request, path):
        number = next(numbers)
        if "tool" in move:
            namespace, _, name = move["tool"].rpartition("/")
            item = {
                "type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name,
                "arguments": json.dumps(move["arguments"]),
            } | ({"namespace": namespace} if namespace else {})
        else:
            content = [{"type": "output_text", "text": move["text"]}]
            item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return sse([
            {"type": "response.created", "response": {"id": f"r_{number}"}},
            {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": {"id": f"r_{number}", "usage": usage}},
        ])


class Completions:
    """OpenAI's chat completions: opencode, Qwen Code."""

    path = "/v1/chat/completions"

    @staticmethod
    def is_turn(request, path):
        return bool(request.get("tools"))

    @staticmethod
    def items(request):
        for message in request["messages"]:
            match message["role"]:
                case "assistant":
                    yield Item("model", json.dumps(message))
                case "tool":
                    yield Item("tool", text_of(message["content"]))
                case "user":
                    content = message["content"]
                    for block in content if isinstance(content, list) else [content]:
                        yield Item("user", text_of(block))

    @staticmethod
    def answer(move, request, path):
        if "tool" in move:
            function = {"name": move["tool"], "arguments": json.dumps(move["arguments"])}
            call = {"index": 0, "id": f"call_{next(numbers)}", "type": "function", "function": function}
            said, why = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        else:
            said, why = {"role": "assistant", "content": move["text"]}, "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        same = {"id": f"c_{next(numbers)}", "created": 1, "model": request["model"], "usage": usage}
        if not request.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": why}
            return plain(same | {"object": "chat.completion", "choices": [choice]})
        chunk = same | {"object": "chat.completion.chunk"}
        kind, body = sse([
            chunk | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
            chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": why}]},
        ])
        return kind, body + "data: [DONE]\n\n"


class Gemini:
    """Gemini's generateContent: Gemini CLI."""

    path = "/v1beta/models"

    @staticmethod
    def is_turn(request, path):
        return ":streamGenerateContent" in path and bool(request.get("tools"))

    @staticmethod
    def items(request):
        """A conversation that Gemini CLI 0.61 resumes contains the result of each call twice, because its
        transcript does. That says nothing about us, so a repeated result counts once."""
        result = None
        for content in request["contents"]:
            if content["role"] == "model":
                yield Item("model", json.dumps(content["parts"]))
                continue
            for part in content["parts"]:
                before, result = result, part.get("functionResponse")
                if not result:
                    yield Item("user", text_of(part))
                elif result != before:
                    yield Item("tool", json.dumps(result["response"]))

    @staticmethod
    def answer(move, request, path):
        if "tool" in move:
            part = {"functionCall": {"name": move["tool"], "args": move["arguments"]}}
        else:
            part = {"text": move["text"]}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        said = {"candidates": [candidate], "usageMetadata": usage}
        return sse([said]) if ":streamGenerateContent" in path else plain(said)


DIALECTS = [Anthropic, Responses, Completions, Gemini]
