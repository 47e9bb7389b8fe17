import t from 'tap'
import { keyedHash, Tenants } from '../../src/conversation/tenant.ts'

const tenants = new Tenants(['X-Team-Key'])
const base = ['Authorization', 'Bearer secret-a']

t.test('the same credentials are the same tenant, whatever else is sent, however the names are written', async (t) => {
  t.equal(tenants.of(base), tenants.of(['user-agent', 'x', 'AUTHORIZATION', 'Bearer secret-a']))
  t.equal(new Tenants([]).of(base), new Tenants([]).of(base))
  t.equal(tenants.of(['x-api-key', 'k', ...base]), tenants.of([...base, 'X-Api-Key', 'k']))
})

t.test('another key, no key, another scheme and one more credential are other tenants [case 57]', async (t) => {
  const all = [
    base, [], ['authorization', 'bearer secret-a'], ['authorization', 'BEARER secret-a'], ['authorization', 'Bearer secret-b'], ['authorization', 'secret-a'],
    ['x-api-key', 'Bearer secret-a'], ['api-key', 'Bearer secret-a'], [...base, 'x-api-key', 'k'], [...base, 'api-key', 'k'], [...base, 'x-team-key', 'k'],
    ['x-team-key', 'Bearer secret-a'], [...base, ...base], [...base, 'authorization', 'Bearer secret-b'], ['authorization', 'Bearer secret-b', ...base],
  ].map((headers) => tenants.of(headers))
  t.equal(new Set(all).size, all.length)
})

t.test('requests without a credential are one tenant', async (t) => {
  t.equal(tenants.of([]), tenants.of(['host', 'h']))
})

t.test('values do not run into each other', async (t) => {
  t.not(tenants.of(['api-key', 'ab', 'authorization', 'c']), tenants.of(['api-key', 'a', 'authorization', 'bc']))
  t.not(tenants.of(['api-key', '1', 'api-key', 'a']), tenants.of(['api-key', 'a', 'api-key', '1']))
  t.not(keyedHash('ab', 'c'), keyedHash('a', 'bc'))
  t.not(keyedHash('1:a'), keyedHash('a'))
})

t.test('a tenant’s name tells nothing of its credential', async (t) => {
  t.notMatch(tenants.of(base), /secret/)
  t.match(tenants.of(base), /^[\w-]{22}$/)
})

t.test('the order in which headers are configured does not matter, nor their case', async (t) => {
  t.equal(new Tenants(['b', 'A']).of(['a', '1', 'b', '2']), new Tenants(['a', 'B']).of(['a', '1', 'b', '2']))
})

t.test('our own questions carry the credentials as they were sent, and nothing else', async (t) => {
  const sent = ['Host', 'h', 'Authorization', 'Bearer A', 'X-API-Key', 'k', 'cookie', 'c', 'X-TEAM-KEY', 't', 'x-api-key', 'again']
  t.strictSame(tenants.credentials(sent), ['Authorization', 'Bearer A', 'X-API-Key', 'k', 'X-TEAM-KEY', 't', 'x-api-key', 'again'])
  t.strictSame(tenants.credentials(['x-other', 'authorization']), [])
})

t.test('a credential in the query tells tenants apart, other parameters do not', async (t) => {
  const tenants = new Tenants([])
  t.equal(tenants.of(['api-key', 'k'], '/v1/chat/completions'), tenants.of(['api-key', 'k'], '/v1/%63hat/completions'))
  t.equal(tenants.of([], '/v1/chat/completions?tag=1&api-version=2'), tenants.of([], '/v1/chat/completions'))
  t.not(tenants.of([], '/v1/chat/completions?tag=1&key=a'), tenants.of([], '/v1/chat/completions?tag=1&key=b'))
  t.not(tenants.of([], '/v1/chat/completions?key=a'), tenants.of([], '/v1/chat/completions?key=b'))
})
