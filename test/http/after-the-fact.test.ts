// What warmfork learns of a fork from its reply: other ids than proven, no reuse, another count than the evidence's.

import t from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { confirmedOn } from '../helpers/endpoints/spoken.ts'
import { sleep } from '../helpers/http.ts'
import { isFork, opencodeSession, startWarmfork, streamed } from '../helpers/warmfork.ts'

overEndpoints(t, async (t, spoken) => {
  for (const [form, options] of [['not streamed', {}], ['streamed', streamed]] as const) {
    if (!spoken.lacks.includes('told prompt ids')) t.test(`prompt ids other than proven void the calibration, with one warning, ${form}`, async (t) => {
      const warmfork = await startWarmfork(t, { spoken, engine: { chatPrompt: (rendered) => isFork(rendered) ? `${rendered} ` : rendered } })
      const session = opencodeSession()
      await warmfork.main(session)
      const since = warmfork.since()
      const reply = await warmfork.chat({ ...session.summary, ...options })
      t.equal(reply.warmfork['decision'], 'forked')
      t.match(await warmfork.outcome(reply), { prompt_ids_confirmed: false, valid: true })
      t.equal(since.warnings().length, 1)
      t.notMatch(reply.text, /"(prompt_token_ids|tokens)":\[\d/, 'the client, who did not ask for ids, sees none')

      const next = warmfork.since()
      const again = await warmfork.chat({ ...session.summary, ...options })
      t.equal(again.warmfork['fallback-reason'], 'fork_failed_before', 'and does not repeat a fork that was not what was proven')
      t.ok(next.questions().includes('POST /v1/chat/completions'), 'the next summary calibrates anew')
    })
  }

  t.test('a prompt with another count of tokens than the engine reported is not forked', async (t) => {
    const warmfork = await startWarmfork(t, { spoken, engine: { chatPrompt: (rendered) => rendered.includes('Session s') ? `${rendered} ` : rendered } })
    const session = opencodeSession()
    await warmfork.main(session)
    const reply = await warmfork.chat(session.summary)
    t.equal(reply.warmfork['fallback-reason'], 'tokenizer_uncalibrated')
    t.equal(reply.status, 200)
  })

  t.test('forking pauses after three forks that were not cached, and goes on after fork.backoff_s', async (t) => {
    const warmfork = await startWarmfork(t, { spoken, engine: { cacheBlocks: 1 }, config: { fork: { backoff_s: 1 } } })
    const session = opencodeSession()
    await warmfork.main(session)
    const since = warmfork.since()
    for (let i = 0; i < 3; i++) {
      const reply = await warmfork.chat(session.summary)
      t.equal(reply.warmfork['decision'], 'forked')
      t.ok((await warmfork.outcome(reply))['engine_cached_tokens'] <= 16, 'as good as nothing')
    }
    t.equal((await warmfork.chat(session.summary)).warmfork['fallback-reason'], 'reuse_not_observed')
    t.equal(since.warnings().length, 1)
    await sleep(1_050)
    t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked')
  })

  if (!spoken.lacks.includes('unreported cached tokens')) t.test('[case 40] an engine that does not report cached tokens is no engine without reuse', async (t) => {
    const warmfork = await startWarmfork(t, { spoken, engine: { promptTokensDetails: false } })
    const session = opencodeSession()
    await warmfork.main(session)
    for (let i = 0; i < 4; i++) {
      const reply = await warmfork.chat(session.summary)
      t.equal(reply.warmfork['decision'], 'forked')
      t.match(await warmfork.outcome(reply), { engine_cached_tokens: null, prompt_ids_confirmed: confirmedOn(spoken) })
    }
    const hints = warmfork.logged.filter(({ msg }) => msg.includes('--enable-prompt-tokens-details'))
    t.equal(hints.length, 1, 'one hint to the flag')
    t.equal(hints[0]!.level, 30)
  })

  t.test('[case 40] a fork behind a restarted engine reports 0 cached tokens, and never a verified hit', async (t) => {
    const warmfork = await startWarmfork(t, { spoken })
    const session = opencodeSession()
    await warmfork.main(session)
    warmfork.engine.restart()
    const reply = await warmfork.chat(session.summary)
    t.match(reply.warmfork, { decision: 'forked', 'cache-hit-verified': 'false' })
    t.match(await warmfork.receipt(reply), { cache_hit_verified: false })
    t.match(await warmfork.outcome(reply), { engine_cached_tokens: 0 })
    t.notOk(warmfork.logged.some(({ msg }) => msg.includes('--enable-prompt-tokens-details')), '0 is a number')
  })
})
