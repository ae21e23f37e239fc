/**
 * Three notes in files, of which one is to be moved. The tools are those of MCP's filesystem server, as it is published.
 *
 * Invariants
 * - The folder alone decides on the reward: the right note is where it should be, and the others are as they were.
 * - The expert knows what it has read, and nothing else.
 */
import { createRequire } from 'node:module'
import { mcpEnvironment } from 'perdure'

const words = {
  animal: ['cat', 'dog', 'cow', 'wolf', 'bear', 'goat'],
  fruit: ['plum', 'pear', 'fig', 'lemon', 'melon', 'peach'],
  tool: ['saw', 'hammer', 'drill', 'chisel', 'rake', 'spade'],
} as const
type Kind = keyof typeof words
const kinds = Object.keys(words) as Kind[]
const program = '@modelcontextprotocol/server-filesystem/dist/index.js'

/** Read the notes, and move the one of the right kind to done.txt. */
export const notes = mcpEnvironment('notes', {
  server: { command: process.execPath, args: [createRequire(import.meta.url).resolve(program), '.'] },
  tools: ['read_text_file', 'move_file'],
  replayable: true, // nothing here is random or looks at a clock
  turnLimit: 8,
  summary: 'Find a note among three files, and move it.',
  async start({ random, files }) {
    const wanted = random.pick(kinds)
    const first = random.int(0, 2)
    const texts = kinds.map((_, at) => random.pick(words[kinds[(first + at) % 3] as Kind]))
    for (const [at, text] of texts.entries()) await files.write(`${at}.txt`, text)
    const prompt = `0.txt, 1.txt, 2.txt are notes. Move the ${wanted} to done.txt.`
    return { prompt, wanted, texts }
  },
  async grade({ state: { wanted, texts }, files }) {
    const found = texts.find((text) => isA(wanted, text))
    const left = texts.flatMap((text, at) => (text === found ? [] : [`${at}.txt`]))
    const isMoved = (await files.read('done.txt')) === found
    const isLeft = (await files.list()).join() === [...left, 'done.txt'].join()
    return isMoved && isLeft ? 1 : 0
  },
  *expert({ wanted }) {
    for (const source of ['0.txt', '1.txt', '2.txt']) {
      if (!isA(wanted, yield { read_text_file: { path: source } })) continue
      yield { move_file: { source, destination: 'done.txt' } }
      return
    }
  },
})

function isA(kind: Kind, text: string): boolean {
  return words[kind].some((word) => word === text)
}
