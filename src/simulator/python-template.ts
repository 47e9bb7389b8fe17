// Compiles a Jinja template so that it behaves as under Python where @huggingface/jinja does not:
// strip(chars) strips those characters alone, and `tojson` leaves what was printed as Python JSON before.

import { Template } from '@huggingface/jinja'

interface Node { readonly type: string, readonly [member: string]: unknown }

const strips: ReadonlyMap<string, (text: string, chars: string) => string> = new Map([
  ['lstrip', stripStart],
  ['rstrip', stripEnd],
  ['strip', (text: string, chars: string) => stripEnd(stripStart(text, chars), chars)],
])

/**
 * @param refuse what a template's raise_exception calls: the package's own throws a plain error
 * @returns a function from the template's variables to its text; values meant for `tojson` must be JSON texts
 */
export function compileTemplate(source: string, refuse: (message: unknown) => never): (variables: Record<string, unknown>) => string {
  const template = new Template(source)
  template.parsed = pythonic(template.parsed as unknown as Node) as unknown as typeof template.parsed
  const functions = Object.fromEntries(Array.from(strips, ([name, strip]) => [`python_${name}`, strip]))
  return (variables) => template.render({ ...variables, ...functions, python_refuse: refuse })
}

function pythonic(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(pythonic)
  if (typeof node !== 'object' || node === null) return node
  const { type, callee, args, operand, filter } = node as Node
  if (identifier(node) === 'raise_exception') return { type, value: 'python_refuse' }
  if (type === 'FilterExpression' && identifier(filter) === 'tojson') return pythonic(operand)
  if (type === 'CallExpression' && Array.isArray(args) && args.length === 1) {
    const { type: calleeType, object, property } = (callee ?? {}) as Node
    const name = identifier(property)
    if (calleeType === 'MemberExpression' && name !== null && strips.has(name)) {
      return { ...(node as Node), callee: { type: 'Identifier', value: `python_${name}` }, args: [pythonic(object), pythonic(args[0])] }
    }
  }
  return Object.assign(Object.create(Object.getPrototypeOf(node) as object), Object.fromEntries(
    Object.entries(node).map(([name, member]) => [name, pythonic(member)])))
}

function identifier(node: unknown): string | null {
  const { type, value } = (node ?? {}) as Node
  return type === 'Identifier' && typeof value === 'string' ? value : null
}

function stripStart(text: string, chars: string): string {
  let start = 0
  while (start < text.length && chars.includes(text[start]!)) start++
  return text.slice(start)
}

function stripEnd(text: string, chars: string): string {
  let end = text.length
  while (end > 0 && chars.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}
