/** A server of OpenEnv as a program, which a test kills: `guessing-server.ts PORT`. Its tool has the form of `examples/guess-number`. */
import { serveSockets } from '../../envs/remote/base/socket-server.testing.ts'

const tool = {
  name: 'guess',
  description: 'Guesses the number.',
  input_schema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
}
const action = { properties: { type: { const: 'call_tool' }, tool_name: {}, arguments: {} } }

function observed(observation: object, reward: number | null = null, done = false): string {
  return JSON.stringify({ type: 'observation', data: { observation, reward, done } })
}

await serveSockets({
  port: Number(process.argv[2]),
  onRequest(request, response) {
    const isSchema = request.url === '/schema'
    response.writeHead(isSchema ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isSchema ? { action } : {}))
  },
  onMessage(text, socket) {
    const { type, data } = JSON.parse(text)
    if (data.type === 'list_tools') return socket.send(observed({ tools: [tool] }))
    if (type === 'reset') return socket.send(observed({ text: 'Guess my number from 1 to 20.' }))
    const [first = '{}'] = socket.heard
    const number = 1 + (JSON.parse(first).data.seed % 20)
    const guess = Number(data.arguments.number)
    const reply = guess === number ? 'right' : guess < number ? 'higher' : 'lower'
    return socket.send(observed({ result: { data: reply } }, Number(reply === 'right'), reply === 'right'))
  },
})
