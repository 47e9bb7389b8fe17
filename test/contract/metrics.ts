// The metrics page, and what an engine tells about itself elsewhere.

import type { Test } from 'tap'
import { request } from 'undici'
import { chatPath, type ContractEngine, get, post } from './http.ts'

/** The sum of a series' samples. */
export async function counter(engine: ContractEngine, name: string): Promise<number> {
  const { text } = await get(engine, '/metrics')
  return text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

export async function metricsPage(t: Test, engine: ContractEngine): Promise<void> {
  await t.test('cache_config_info advertises prefix caching and the block size', async (t) => {
    const { text, headers } = await get(engine, '/metrics')
    t.match(headers['content-type'], /^text\/plain; version=/)
    const line = text.split('\n').find((line) => line.startsWith('vllm:cache_config_info{')) ?? ''
    t.match(line, /[{,]enable_prefix_caching="True"[,}]/)
    t.equal(/[{,]block_size="(\d+)"[,}]/.exec(line)?.[1], String(engine.blockSize))
    t.match(line, /[{,]num_gpu_blocks="\d+"[,}]/)
    t.match(line, / 1\.0$/)
    t.match(text, /^# TYPE vllm:cache_config_info gauge$/m)
  })

  await t.test('the start time and the counters are there', async (t) => {
    const { text } = await get(engine, '/metrics')
    const start = await counter(engine, 'process_start_time_seconds')
    t.ok(start > 1.6e9 && start <= Date.now() / 1000, 'a Unix time in seconds')
    for (const name of [
      'vllm:num_requests_running', 'vllm:num_requests_waiting', 'vllm:kv_cache_usage_perc', 'vllm:prefix_cache_queries_total',
      'vllm:prefix_cache_queries_created', 'vllm:prefix_cache_hits_total', 'vllm:prompt_tokens_total', 'vllm:prompt_tokens_cached_total',
      'vllm:generation_tokens_total',
    ]) {
      t.ok(text.includes(`\n${name}{engine="0",model_name="${engine.model}"} `), name)
    }
    t.match(text, /^vllm:request_success_total\{engine="0",finished_reason="stop",model_name="[^"]+"\} /m)
    t.match(text, /^vllm:prompt_tokens_by_source_total\{.*source="local_cache_hit"\} /m)
  })

  await t.test('a client that goes stops its generation', async (t) => {
    const answer = await request(engine.url + chatPath, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: engine.model, messages: [{ role: 'user', content: 'q' }], stream: true, ignore_eos: true, max_tokens: 4_000 }),
    })
    for await (const chunk of answer.body) {
      t.match(String(chunk), /^data: /)
      break
    }
    const left = performance.now()
    while (await counter(engine, 'vllm:num_requests_running') > 0 && performance.now() - left < 3_000) await new Promise((resolve) => setTimeout(resolve, 20))
    t.equal(await counter(engine, 'vllm:num_requests_running'), 0)
    t.ok(performance.now() - left < 3_000, 'soon')
  })

  await t.test('models, version and health', async (t) => {
    const models = await get(engine, '/v1/models')
    t.equal(models.json.object, 'list')
    const card = models.json.data.find((each: any) => each.id === engine.model)
    t.strictSame(Object.keys(card), ['id', 'object', 'created', 'owned_by', 'root', 'parent', 'max_model_len', 'permission'])
    t.equal(card.owned_by, 'vllm')
    t.equal(card.max_model_len, (await post(engine, '/tokenize', { prompt: 'a' })).json.max_model_len)
    t.match((await get(engine, '/version')).json.version, /^0\.\d+\.\d+/)
    for (const path of ['/health', '/ping']) {
      const answer = await get(engine, path)
      t.equal(answer.status, 200, path)
      t.equal(answer.text, '', path)
    }
    t.equal((await post(engine, '/ping', {})).status, 200)
  })
}
