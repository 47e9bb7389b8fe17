// JSON as Python reads and writes it. vLLM renders tools and tool-call arguments with json.dumps: `1.0` stays `1.0`,
// large integers stay exact, keys keep their order even when they look like numbers. JSON.parse keeps none of these.

/** A number written with a fraction or an exponent, which Python keeps apart from an integer. */
export class PythonFloat {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

export type JsonObject = Map<string, Json>
export type Json = null | boolean | string | number | bigint | PythonFloat | Json[] | JsonObject

/** What json.loads raises, with the character at which it stopped. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly at: number
  constructor(reason: string, at: number) {
    super(reason)
    this.at = at
  }
}

const numberPattern = /(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?/y
const spacePattern = /[ \t\n\r]*/y
const plainPattern = /[^"\\\u0000-\u001f]*/y
const literals: readonly (readonly [string, Json])[] = [
  ['null', null], ['true', true], ['false', false],
  ['NaN', new PythonFloat(NaN)], ['Infinity', new PythonFloat(Infinity)], ['-Infinity', new PythonFloat(-Infinity)],
]
const escapes: Readonly<Record<string, string>> = {
  '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t',
}

/**
 * Reads JSON as Python's json.loads does: NaN and Infinity are accepted, the last of duplicate keys wins.
 * @throws JsonError where json.loads would raise JSONDecodeError
 */
export function parseJson(text: string): Json {
  let at = 0

  function space(): void {
    spacePattern.lastIndex = at
    spacePattern.test(text)
    at = spacePattern.lastIndex
  }

  function string(): string {
    const start = at
    at++
    let out = ''
    for (;;) {
      plainPattern.lastIndex = at
      plainPattern.test(text)
      out += text.slice(at, plainPattern.lastIndex)
      at = plainPattern.lastIndex
      const char = text[at]
      if (char === '"') {
        at++
        return out
      }
      if (char === undefined) throw new JsonError('Unterminated string starting at', start)
      if (char !== '\\') throw new JsonError('Invalid control character at', at)
      const escape = text[at + 1] ?? ''
      if (escape === 'u') {
        const hex = text.slice(at + 2, at + 6)
        if (!/^[0-9a-fA-F]{4}$/.test(hex)) throw new JsonError('Invalid \\uXXXX escape', at)
        out += String.fromCharCode(Number.parseInt(hex, 16))
        at += 6
        continue
      }
      const plain = escapes[escape]
      if (plain === undefined) throw new JsonError('Invalid \\escape', at)
      out += plain
      at += 2
    }
  }

  function object(): JsonObject {
    const map: JsonObject = new Map()
    at++
    space()
    if (text[at] === '}') {
      at++
      return map
    }
    for (;;) {
      if (text[at] !== '"') throw new JsonError('Expecting property name enclosed in double quotes', at)
      const key = string()
      space()
      if (text[at] !== ':') throw new JsonError("Expecting ':' delimiter", at)
      at++
      map.set(key, value())
      space()
      if (text[at] === '}') {
        at++
        return map
      }
      if (text[at] !== ',') throw new JsonError("Expecting ',' delimiter", at)
      at++
      space()
    }
  }

  function array(): Json[] {
    const list: Json[] = []
    at++
    space()
    if (text[at] === ']') {
      at++
      return list
    }
    for (;;) {
      list.push(value())
      space()
      if (text[at] === ']') {
        at++
        return list
      }
      if (text[at] !== ',') throw new JsonError("Expecting ',' delimiter", at)
      at++
    }
  }

  function value(): Json {
    space()
    const char = text[at]
    if (char === '"') return string()
    if (char === '{') return object()
    if (char === '[') return array()
    numberPattern.lastIndex = at
    const match = numberPattern.exec(text)
    if (match !== null) {
      at += match[0].length
      if (match[2] !== undefined || match[3] !== undefined) return new PythonFloat(Number(match[0]))
      const integer = Number(match[0])
      return Number.isSafeInteger(integer) ? integer + 0 : BigInt(match[0])
    }
    for (const [name, literal] of literals) {
      if (text.startsWith(name, at)) {
        at += name.length
        return literal
      }
    }
    throw new JsonError('Expecting value', at)
  }

  const result = value()
  space()
  if (at !== text.length) throw new JsonError('Extra data', at)
  return result
}

/** json.dumps(value, ensure_ascii=False), the `tojson` of transformers' chat templates. */
export function dumpJson(value: Json): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return dumpString(value)
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return Object.is(value, -0) ? '0' : String(value)
  if (value instanceof PythonFloat) return dumpFloat(value.value)
  if (Array.isArray(value)) return `[${value.map(dumpJson).join(', ')}]`
  return `{${Array.from(value, ([key, member]) => `${dumpString(key)}: ${dumpJson(member)}`).join(', ')}}`
}

function dumpString(text: string): string {
  // JSON.stringify escapes lone surrogates where Python, told not to use ASCII, leaves them.
  return JSON.stringify(text).replace(/\\u(d[89a-f][0-9a-f]{2})/g, (whole, hex: string, offset: number, all: string) =>
    evenBackslashesBefore(all, offset) ? String.fromCharCode(Number.parseInt(hex, 16)) : whole)
}

function evenBackslashesBefore(text: string, end: number): boolean {
  let count = 0
  while (text[end - 1 - count] === '\\') count++
  return count % 2 === 0
}

/** float.__repr__: the shortest digits that read back, with an exponent from 1e16 on and below 1e-4. */
function dumpFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [mantissa = '', exponentText = '0'] = value.toExponential().split('e')
  const exponent = Number(exponentText)
  if (exponent < -4 || exponent >= 16) {
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  }
  const sign = value < 0 ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}
