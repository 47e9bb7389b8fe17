import t from 'tap'
import { readCacheConfig } from '../../src/engine/metrics.ts'

const labels = 'block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="0",gpu_memory_utilization="0.9",hash_block_size="64",num_gpu_blocks="2048"'
const started = 'process_start_time_seconds 1.75e+09\n'

function line(change: [string, string] = ['', ''], rest = labels): string {
  return `vllm:cache_config_info{${rest.replace(...change)}} 1.0\n`
}

t.test('an engine that says so advertises prefix caching (R5)', async (t) => {
  const metrics = `# HELP vllm:cache_config_info Information.\n# TYPE vllm:cache_config_info gauge\n${line()}${started}`
  t.strictSame(readCacheConfig(metrics), { prefixCaching: true, blockSize: 16, start: '1.75e+09' })
  t.strictSame(readCacheConfig(metrics.replaceAll('\n', '\r\n')), { prefixCaching: true, blockSize: 16, start: '1.75e+09' })
})

t.test('anything but True is not advertised', async (t) => {
  for (const value of ['False', 'true', 'None', '']) t.equal(readCacheConfig(line(['"True"', `"${value}"`]))!.prefixCaching, false, value)
  t.equal(readCacheConfig(line(['enable_prefix_caching="True",', '']))!.prefixCaching, false)
  t.equal(readCacheConfig(line(['enable_prefix_caching', 'disable_enable_prefix_caching']))!.prefixCaching, false)
})

t.test('no line, no block size and no metrics at all say nothing', async (t) => {
  for (const metrics of ['', 'vllm:other{a="b"} 1\n', started, '<html>', `# ${line()}`]) t.equal(readCacheConfig(metrics), null, metrics)
  for (const size of ['0', '-1', 'None', '1.5', '', 'x']) t.equal(readCacheConfig(line(['block_size="16"', `block_size="${size}"`])), null, size)
  t.equal(readCacheConfig(line(['block_size="16",', ''])), null)
})

t.test('with several engines all must advertise, and the largest block counts', async (t) => {
  t.match(readCacheConfig(line() + line(['block_size="16"', 'block_size="128"'])), { prefixCaching: true, blockSize: 128 })
  t.match(readCacheConfig(line() + line(['"True"', '"False"'])), { prefixCaching: false })
  t.equal(readCacheConfig(line() + line(['block_size="16"', 'block_size="None"'])), null)
})

t.test('an engine that does not say when it started has an empty start', async (t) => {
  t.equal(readCacheConfig(line())!.start, '')
})
