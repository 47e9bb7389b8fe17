import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { isDone, SseSplitter, type SseEvent } from '../../src/wire/sse.ts'
import { holds } from '../helpers/property.ts'

/** A reader that is as slow and as plain as the standard's text (WHATWG HTML, 9.2.6). */
function plainly(stream: string): (string | null)[] {
  const lines = stream.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
  lines.pop()
  const events: (string | null)[] = []
  let data: string[] = []
  for (const line of lines) {
    if (line === '') {
      events.push(data.length > 0 ? data.join('\n') : null)
      data = []
    } else if (line === 'data' || line.startsWith('data:')) {
      data.push(line.slice(5).replace(/^ /, ''))
    }
  }
  return events
}

/** Splits a stream cut at the given places. */
function events(stream: Buffer, cuts: readonly number[]): { events: SseEvent[], rest: Buffer } {
  const splitter = new SseSplitter()
  const places = [0, ...[...cuts].map((cut) => cut % (stream.length + 1)).sort((a, b) => a - b), stream.length]
  const found = places.slice(1).flatMap((to, i) => splitter.push(stream.subarray(places[i], to)))
  return { events: found, rest: splitter.rest() }
}

function texts(list: readonly SseEvent[]): (string | null)[] {
  return list.map(({ data }) => data && data.toString('utf8'))
}

const line = fc.oneof(
  fc.constantFrom(': ping', ':', 'event: delta', 'id: 7', 'retry: 10', 'data:', 'data', 'data:  two spaces', 'datax: no', 'data :no', '\ufeffdata: marked', ' data: indented'),
  fc.constantFrom('{"a":"漢é👩‍👩‍👧"}', '[DONE]', '{"content":"data: [DONE]\\n\\n"}', '').map((text) => `data: ${text}`),
  fc.constantFrom('{"a":1}', 'x').map((text) => `data:${text}`),
)
const stream = fc.tuple(fc.boolean(), fc.array(fc.tuple(fc.array(line, { maxLength: 3 }), fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 6 }), fc.constantFrom('', 'data: cut', 'da'))
  .map(([mark, groups, end]) => (mark ? '\ufeff' : '') + groups.map(([lines, ending]) => [...lines, ''].map((text) => text + ending).join('')).join('') + end)

t.test('any split of a stream gives the events of the standard, and all of its bytes [case 1]', async (t) => {
  holds(t, fc.property(stream, fc.array(fc.nat(400), { maxLength: 12 }), (text, cuts) => {
    const bytes = Buffer.from(text)
    const split = events(bytes, cuts)
    // A line feed behind a cut carriage return belongs to the next event's bytes, and a mark before an empty line to its event's.
    const wanted = plainly(text).filter((data) => data !== null)
    assert.deepEqual(texts(split.events).filter((data) => data !== null), wanted)
    assert.ok(Buffer.concat([...split.events.map(({ raw }) => raw), split.rest]).equals(bytes))
  }), 1000)
})

t.test('where events begin and end does not depend on the split', async (t) => {
  holds(t, fc.property(stream, fc.array(fc.nat(400), { maxLength: 12 }), (text, cuts) => {
    const bytes = Buffer.from(text)
    const whole = events(bytes, [])
    const split = events(bytes, cuts)
    assert.deepEqual(split.events.map(({ raw }) => raw.toString('latin1')), whole.events.map(({ raw }) => raw.toString('latin1')))
    assert.ok(split.rest.equals(whole.rest))
  }), 500)
})

t.test('the data of one line is a part of its event, wherever the stream was cut', async (t) => {
  const bytes = Buffer.from('data: {"a":1}\n\ndata: {"b":2}\r\n\r\n')
  for (let cut = 0; cut <= bytes.length; cut++) {
    for (const { raw, data } of events(bytes, [cut]).events) {
      const at = data!.byteOffset - raw.byteOffset
      t.equal(data!.buffer, raw.buffer)
      t.ok(raw.subarray(at, at + data!.length).equals(data!))
      t.ok(raw.includes(data!))
    }
  }
})

t.test('a line cut into three writes is one event [case 1]', async (t) => {
  const splitter = new SseSplitter()
  t.same(splitter.push(Buffer.from('data: {"id":"a","choi')), [])
  t.same(splitter.push(Buffer.from('ces":[]}\n')), [])
  const [first] = splitter.push(Buffer.from('\ndata: [DO'))
  t.equal(String(first!.data), '{"id":"a","choices":[]}')
  const [second] = splitter.push(Buffer.from('NE]\n\n'))
  t.equal(isDone(second!.data!), true)
})

t.test('a character of many bytes, cut after each of them, stays whole [case 2]', async (t) => {
  const splitter = new SseSplitter()
  const found = [...Buffer.from('data: 漢é👩‍👩‍👧\n\n')].flatMap((byte) => splitter.push(Buffer.from([byte])))
  t.strictSame(texts(found), ['漢é👩‍👩‍👧'])
})

t.test('LF, CR, CRLF, no space and a byte order mark are all read [case 3]', async (t) => {
  for (const ending of ['\n', '\r', '\r\n']) {
    for (const space of ['', ' ']) {
      for (const mark of ['', '\ufeff']) {
        const bytes = Buffer.from(`${mark}data:${space}{"a":1}${ending}${ending}data:${space}[DONE]${ending}${ending}`)
        for (let cut = 0; cut < bytes.length; cut++) t.strictSame(texts(events(bytes, [cut]).events), ['{"a":1}', '[DONE]'])
      }
    }
  }
})

t.test('a byte order mark counts only at the very beginning [case 3]', async (t) => {
  t.strictSame(texts(events(Buffer.from('\n\ufeffdata: a\n\ndata: b\n\n'), []).events), [null, null, 'b'])
})

t.test('comments, event names, ids and empty data are no data [case 4]', async (t) => {
  const bytes = Buffer.from(': ping\n\nevent: x\nid: 1\nretry: 5\n\ndata:\n\ndata: a\n: between\ndata: b\n\n')
  t.strictSame(texts(events(bytes, []).events), [null, null, '', 'a\nb'])
})

t.test('the end mark inside a text is no end mark [case 5]', async (t) => {
  const [event] = events(Buffer.from('data: {"content":"data: [DONE]\\n\\n"}\n\n'), []).events
  t.equal(isDone(event!.data!), false)
  t.equal(isDone(Buffer.from('[DONE]')), true)
  t.equal(isDone(Buffer.from('[DONE')), false)
})

t.test('half an event is no event', async (t) => {
  const split = events(Buffer.from('data: a\n\ndata: [DONE]\n'), [])
  t.strictSame(texts(split.events), ['a'])
  t.equal(String(split.rest), 'data: [DONE]\n')
})
