# What vLLM makes of responses requests: JSON lines of bodies in, JSON lines of chat messages, tools and kwargs out.

import json
import sys

from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.entrypoints.openai.responses.utils import construct_input_messages, construct_tool_dicts


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
        request = ResponsesRequest.model_validate(json.loads(line))
        out = {
            "messages": plain(construct_input_messages(request_instructions=request.instructions, request_input=request.input)),
            "tools": plain(construct_tool_dicts(request.tools, request.tool_choice)),
            "kwargs": plain(request.build_chat_params(None, "string").chat_template_kwargs),
        }
    except Exception as error:
        out = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(out, ensure_ascii=False), flush=True)
