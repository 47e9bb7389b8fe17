import t from 'tap'
import { bodies } from '../peers/rows/bodies.ts'
import { testRows } from '../peers/tap.ts'

testRows(t, bodies)
