import t from 'tap'
import { clientAbort } from '../peers/rows/client-abort.ts'
import { testRows } from '../peers/tap.ts'

testRows(t, clientAbort)
