// What the /compact of opencode's screen does, by its own server: summarizes the session that is there. Argument: model.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const server = spawn('opencode', ['serve', '--hostname', '127.0.0.1', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
const url = await new Promise((resolve) => {
  createInterface({ input: server.stdout }).on('line', (line) => {
    console.log(line)
    const found = /listening on (http:\S+)/.exec(line)
    if (found) resolve(found[1])
  })
})
try {
  const sessions = await (await fetch(`${url}/session`)).json()
  const [session] = sessions.filter(({ parentID }) => !parentID).sort((a, b) => b.time.updated - a.time.updated)
  const answer = await fetch(`${url}/session/${session.id}/summarize`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ providerID: 'local', modelID: process.argv[2] }),
  })
  console.log(answer.status, await answer.text())
} finally {
  // The command is a launcher: the server is its child.
  process.kill(-server.pid, 'SIGKILL')
}
