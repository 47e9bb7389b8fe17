// Text of tokens as they come: bytes of a character that is not whole yet are held back, as in vLLM's detokenizer.

import { StringDecoder } from 'node:string_decoder'
import type { Tokenizer } from './tokenizer.ts'

export class IncrementalText {
  readonly #decoder = new StringDecoder('utf8')
  readonly #tokenizer: Tokenizer
  readonly #skipSpecial: boolean

  constructor(tokenizer: Tokenizer, skipSpecial: boolean) {
    this.#tokenizer = tokenizer
    this.#skipSpecial = skipSpecial
  }

  /** @returns the characters that these tokens complete */
  push(tokens: readonly number[], finished: boolean): string {
    // The end of the turn is never text, whether special tokens are skipped or not (include_stop_str_in_output).
    const text = tokens.filter((token) => token !== this.#tokenizer.endOfTurn)
      .map((token) => this.#decoder.write(Buffer.from(this.#tokenizer.bytes(token, this.#skipSpecial)))).join('')
    return finished ? text + this.#decoder.end() : text
  }
}
