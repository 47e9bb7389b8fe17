import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { defaultConfig } from '../../src/config.ts'
import { keys, type Mapping, valueAt } from '../../src/config/keys.ts'
import { loadConfig } from '../../src/config/load.ts'
import { packageRoot } from '../../src/package-root.ts'

const pathOf = (name: string) => fileURLToPath(new URL(`config/${name}`, packageRoot))

t.test('config/default.yaml lists every key with the default that the schema gives it', async (t) => {
  const values: Mapping = parse(readFileSync(pathOf('default.yaml'), 'utf8'))
  t.same(values, defaultConfig)
  for (const key of keys) t.not(valueAt(values, key), undefined, key)
})

t.test('config/default.yaml says above every key what it means', async (t) => {
  const lines = readFileSync(pathOf('default.yaml'), 'utf8').split('\n')
  for (const key of keys) {
    const [section, name] = key.split('.') as [string, string?]
    const start = lines.findIndex((line) => line.startsWith(`${section}:`))
    const at = name === undefined ? start : lines.findIndex((line, index) => index > start && line.startsWith(`  ${name}:`))
    t.match(lines[at - 1], /^ *# .{10}/, key)
  }
})

t.test('config/default.yaml can be given as the configuration file', async (t) => {
  t.match(loadConfig(['--simulator', '--config', pathOf('default.yaml')], {}), { command: 'run' })
})

t.test('the preset batbox sets the budgets of a summary and nothing else', async (t) => {
  const loaded = loadConfig(['--simulator', '--config', pathOf('presets/batbox.yaml')], {})
  t.match(loaded, {
    command: 'run',
    config: {
      ...defaultConfig,
      simulator: true,
      summary: { ...defaultConfig.summary, input_cap_tokens: 90_000, output_allowance_tokens: 20_000 },
    },
  })
})
