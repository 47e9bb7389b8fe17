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
        chat = AnthropicServingMessages.to_chat_completion_request(AnthropicMessagesRequest.model_validate(json.loads(line)))
        keys = ("messages", "tools", "tool_choice", "reasoning_effort", "stop", "max_tokens", "temperature", "chat_template_kwargs", "cache_salt", "stream")
        out = {key: plain(getattr(chat, key)) for key in keys}
        out["kwargs"] = plain(chat.build_chat_params(None, "string").chat_template_kwargs)
    except Exception as error:
        out = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(out, ensure_ascii=False), flush=True)
