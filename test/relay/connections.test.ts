import t from 'tap'
import { connections } from '../peers/rows/connections.ts'
import { testRows } from '../peers/tap.ts'

// Some of them mostly wait.
t.jobs = 3

testRows(t, connections)
