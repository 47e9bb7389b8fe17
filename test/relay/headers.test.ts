import t from 'tap'
import { headers } from '../peers/rows/headers.ts'
import { testRows } from '../peers/tap.ts'

testRows(t, headers)
