import t from 'tap'
import { streams } from '../peers/rows/streams.ts'
import { testRows } from '../peers/tap.ts'

testRows(t, streams)
