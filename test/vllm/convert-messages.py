# What vLLM makes of messages requests: JSON lines of bodies in, JSON lines of the chat request's parts out.

import json
import sys

from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest
from vllm.entrypoints.anthropic.serving import AnthropicServingMessages


def plain(value):
    if hasattr(value, "model_dump"):
        return plain(value.model_dump())
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return [plain(each) for each in value]


for line in sys.stdin:
    try:
        request = AnthropicMessagesRequest.model_validate(json.loads(line))
        chat = AnthropicServingMessages.to_chat_completion_request(request)
        keys = ("messages", "tools", "tool_choice", "reasoning_effort", "stop", "max_tokens", "temperature", "chat_template_kwargs", "cache_salt", "stream", "response_format", "thinking_token_budget")
        out = {key: plain(getattr(chat, key)) for key in keys}
        # Before a template that takes system text in front only.
        out["merged"] = plain(AnthropicServingMessages.to_chat_completion_request(request, merge_inline_system=True).messages)
        out["kwargs"] = plain(chat.build_chat_params(None, "string").chat_template_kwargs)
    except Exception as error:
        out = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(out, ensure_ascii=False), flush=True)
