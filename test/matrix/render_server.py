#!/usr/bin/env python3
"""Renders chat templates over HTTP as vLLM 0.32 would, one model per template file.

    render_server.py TEMPLATES_DIR TOKENIZER_JSON

Prints its port, serves until its standard input closes. It generates nothing: a
chat answers with the ids of its prompt. Tokenizer: the one given, with every
mark that a template writes (<|...|>, [INST], <think>, ...) as a token of its own.
POST /check answers for the matrix what a planned fork shares with its parent,
from the fork's body alone.
"""
import functools
import json
import pathlib
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jinja2
from jinja2 import nodes
from tokenizers import Tokenizer
from transformers.utils.chat_template_utils import render_jinja_template

templates_dir, tokenizer_json = map(pathlib.Path, sys.argv[1:3])
sources = {path.stem: path.read_text() for path in sorted(templates_dir.glob("*.jinja"))}
base = Tokenizer.from_file(str(tokenizer_json))
base_size = 200_000  # ids from here on are a template's own marks
window = 131_072

MARK = re.compile(r"<[|｜][^<>|｜\s{}'\"+]{1,60}[|｜]>|<\|[a-z_]{1,30}>|<[a-z_]{1,30}\|>|</?[a-z][a-z0-9_:]{1,30}>|\[/?[A-Z][A-Z_]{2,30}\]")
BOS, EOS = "<|bos|>", "<|eos|>"


@functools.cache
def marks(name):
    return [BOS, EOS, *sorted(set(MARK.findall(sources[name])) - {BOS, EOS})]


@functools.cache
def splitter(name):
    return re.compile("(" + "|".join(re.escape(mark) for mark in sorted(marks(name), key=len, reverse=True)) + ")")


@functools.lru_cache(maxsize=50_000)
def plain_ids(text):
    return base.encode(text, add_special_tokens=False).ids


def encode(name, text):
    ids = []
    for part in splitter(name).split(text):
        if part in marks(name):
            ids.append(base_size + marks(name).index(part))
        elif part:
            ids.extend(plain_ids(part))
    return ids


def decode(name, ids):
    parts, run = [], []
    for id in [*ids, None]:
        if id is None or id >= base_size:
            if run:
                parts.append(base.decode(run, skip_special_tokens=False))
            run = []
            if id is not None and id - base_size < len(marks(name)):
                parts.append(marks(name)[id - base_size])
        else:
            run.append(id)
    return "".join(parts)


def is_content(node, names):
    """Whether an expression is a message's content, or a part of it."""
    while isinstance(node, (nodes.Filter, nodes.Test)) or (isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)):
        node = node.node
    if isinstance(node, nodes.Getattr):
        return node.attr == "content"
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Const) and node.arg.value == "content"
    return isinstance(node, nodes.Name) and node.name in names


@functools.cache
def wants_parts(name):
    """vLLM gives content as a list of parts to templates that loop over it, and as a string to others (renderers/hf.py)."""
    root = jinja2.Environment(extensions=["jinja2.ext.loopcontrols", Generation]).parse(sources[name])
    names = {"content"}
    for macro in root.find_all(nodes.Macro):
        for call in root.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == macro.name:
                names |= {parameter.name for parameter, given in zip(macro.args, call.args) if is_content(given, ())}
    return any(is_content(loop.iter, names) for loop in root.find_all(nodes.For))


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def text_of(content):
    if content is None:
        return ""
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def as_vllm_reads(name, message, renames):
    """A message as vLLM gives it to the template (parse_chat_messages)."""
    read = {"role": message["role"]}
    text = text_of(message.get("content"))
    # A tool's text stays a string for every template.
    as_parts = wants_parts(name) and message["role"] != "tool"
    read["content"] = ([] if message.get("content") is None else [{"type": "text", "text": text}]) if as_parts else text
    reasoning = message.get("reasoning")
    if reasoning is None and renames:
        reasoning = message.get("reasoning_content")
    if message["role"] == "assistant" and reasoning is not None:
        read["reasoning"] = read["reasoning_content"] = reasoning
    if message.get("tool_calls"):
        calls = json.loads(json.dumps(message["tool_calls"]))
        for call in calls:
            call["function"]["arguments"] = json.loads(call["function"]["arguments"] or "{}") or {}
        read["tool_calls"] = calls
    for key in ("tool_call_id", "name"):
        if message["role"] == "tool" and message.get(key):
            read[key] = message[key]
    return read


def rebuilt(tool):
    function = tool["function"]
    return {"type": "function", "function": {key: function.get(key) for key in ("name", "description", "parameters")}}


def render(body, chat):
    """Text and ids of a chat, or the template's refusal as ValueError. `chat`: as the chat endpoint, not /tokenize."""
    name = body["model"]
    messages = [as_vllm_reads(name, message, chat) for message in body["messages"]]
    kwargs = dict(body.get("chat_template_kwargs") or {})
    if not re.search(r"['\"]developer['\"]", sources[name]):
        for message in messages:
            message["role"] = "system" if message["role"] == "developer" else message["role"]
    try:
        texts, _ = render_jinja_template(
            [messages], tools=[rebuilt(tool) for tool in body.get("tools") or []] or None, chat_template=sources[name],
            add_generation_prompt=body.get("add_generation_prompt", True), bos_token=BOS, eos_token=EOS, **kwargs)
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    return texts[0], encode(name, texts[0])


def common_prefix(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def check(parent, fork, head_text, composed, chat_like):
    """What a planned fork shares with its parent, computed from its body.

    composed: ids that the `tokens` placement makes of the same fork, or null.
    chat_like: the same fork as a chat request: the template's own rendering of it.
    """
    name = parent["model"]
    text, parent_ids = render(parent, True)
    ids = fork["prompt"] if "prompt" in fork else render(fork, True)[1]
    shared = common_prefix(parent_ids, ids)
    # The head's end in the parent, by the last words of its last message; some templates do not show every message.
    at = text.find(head_text)
    upto = len(encode(name, text[:at + len(head_text)])) if at >= 0 else len(parent_ids)
    return {
        "parent": len(parent_ids), "fork": len(ids), "shared": shared, "upto": upto, "shown": at >= 0,
        "covers": at < 0 or head_text in decode(name, ids[:shared]),
        "composed": composed and against(name, parent_ids, composed, chat_like, head_text),
    }


def against(name, parent_ids, composed, chat_like, head_text):
    """How the composed ids differ from the template's own rendering."""
    shared = common_prefix(parent_ids, composed)
    covers = head_text in decode(name, composed[:shared]) or head_text not in decode(name, parent_ids)
    try:
        text, own = render(chat_like, True)
    except ValueError:
        return {"how": "refused", "covers": covers}
    if own == composed:
        return {"how": "same", "covers": covers}
    written = decode(name, composed)
    if written == text:
        return {"how": "same text", "covers": covers}
    # Where the template renders the history anew, what follows the head's last words is all there is to compare.
    ends = [each[each.rfind(head_text):] for each in (written, text)]
    return {"how": "same end" if ends[0] == ends[1] else "other", "covers": covers, "wrote": ends[0], "template": ends[1]}


METRICS = 'vllm:cache_config_info{block_size="16",enable_prefix_caching="True",engine="0"} 1.0\nprocess_start_time_seconds 1.0\n'


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body):
        data = body.encode() if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/metrics":
            return self.answer(200, METRICS)
        if self.path == "/version":
            return self.answer(200, {"version": "0.32.0"})
        if self.path == "/v1/models":
            return self.answer(200, {"object": "list", "data": [{"id": name, "parts": wants_parts(name), "max_model_len": window} for name in sources]})
        self.answer(404, {"detail": "Not Found"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            if self.path == "/check":
                return self.answer(200, check(**body))
            if body.get("model") not in sources:
                return self.answer(404, {"error": {"message": "no such model", "type": "NotFoundError", "param": "model", "code": 404}})
            if self.path == "/detokenize":
                return self.answer(200, {"prompt": decode(body["model"], body["tokens"])})
            if self.path not in ("/tokenize", "/v1/chat/completions"):
                return self.answer(404, {"detail": "Not Found"})
            ids = render(body, self.path != "/tokenize")[1]
        except ValueError as error:
            return self.answer(400, {"error": {"message": str(error), "type": "BadRequestError", "param": None, "code": 400}})
        if self.path == "/tokenize":
            return self.answer(200, {"count": len(ids), "max_model_len": window, "tokens": ids, "token_strs": None})
        message = {"role": "assistant", "content": "x", "reasoning": None}
        self.answer(200, {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": body["model"],
                          "choices": [{"index": 0, "message": message, "finish_reason": "length", "token_ids": [87]}],
                          "usage": {"prompt_tokens": len(ids), "completion_tokens": 1}, "prompt_token_ids": ids})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
