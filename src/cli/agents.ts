// `warmfork agents`: what is known of agents' summary requests, as one table.

import { builtInAgents, type Agent } from '../summary/agents.ts'

function markers({ endpoint, header, system, starts, last, front }: Agent['traits']): string[] {
  return [
    endpoint && `endpoint ${endpoint}`, header && `header ${header.name} "${header.contains}"`,
    system && `system "${system}"`, starts && `starts ${JSON.stringify(starts)}`, last && `last "${last}"`, front && `front ${front}`,
  ].filter((text) => text !== undefined)
}

export function printAgents(agents: readonly Agent[], generic: boolean): string {
  const rows = [
    ['agent', 'checked with', 'shape', 'tools', 'markers', 'file'],
    ...agents.map(({ agent, versions, shape, traits, file }) => [
      agent, versions.join(', '), shape, traits.tools,
      markers(traits).join(', '),
      file.startsWith(builtInAgents) ? 'built in' : file,
    ]),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ').trimEnd())
  const others = generic
    ? 'Others: by what they hold and ask for (agents.generic is true).'
    : 'Others: only where they say it themselves with x-warmfork-request (agents.generic is false).'
  return `${lines.join('\n')}\n\n${others}\n`
}
