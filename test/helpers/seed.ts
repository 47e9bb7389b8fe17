// Property tests try the same inputs in every run, so that a run says something about the change and not about chance.
// WARMFORK_TEST_SEED=random, or a number, tries others.

import fc from 'fast-check'

const wanted = process.env['WARMFORK_TEST_SEED'] ?? '20261130'
if (wanted !== 'random') fc.configureGlobal({ seed: Number(wanted) })
