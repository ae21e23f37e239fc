/**
 * A server of both protocols, as a process of its own, that answers every turn at once with an observation of a page.
 *
 * Invariants
 * - Its answers have the fields of the unmodified servers' answers, and as much text as an agent reads in a turn.
 */
import { serveSockets } from '../../envs/remote/base/socket-server.testing.ts'

const page = 'You are in the hall. There is a lamp on the desk, and the drawer below it is locked. '.repeat(
  12,
)
const observed = (text: string) =>
  JSON.stringify({
    type: 'observation',
    data: { observation: { text, metadata: {} }, reward: 0, done: false },
  })
const action = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }
const tools = [{ type: 'function', function: { name: 'act', description: 'Acts.', parameters: action } }]
const answers: Readonly<Record<string, object>> = {
  '/schema': { action },
  '/api/get_indices': Array.from({ length: 1000 }, (_, index) => index),
  '/api/start_sample': said('user', 'Find the key.'),
  '/api/interact': said('tool', page),
  '/api/cancel': {},
}

function said(role: string, content: string): object {
  const messages = [{ role, content, ...(role === 'tool' ? { tool_call_id: 'call_0' } : {}) }]
  return { messages, tools, finish: false, status: 'running', reward: 0, metrics: {} }
}

const texts = new Map(Object.entries(answers).map(([path, answer]) => [path, JSON.stringify(answer)]))
const { url } = await serveSockets({
  onRequest(request, response) {
    request.resume().once('end', () => {
      const text = texts.get(request.url?.split('?')[0] ?? '')
      response.writeHead(text === undefined ? 404 : 200, {
        ...{ 'content-type': 'application/json', session_id: '7' },
        'content-length': Buffer.byteLength(text ?? ''),
      })
      response.end(text)
    })
  },
  onMessage: (_, socket) => socket.send(observed(page)),
})
process.on('disconnect', () => process.exit())
process.send?.(url)
