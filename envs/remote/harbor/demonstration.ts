/**
 * A task's own solution, as an agent would play it.
 *
 * Invariants
 * - It is played through the agent's tools, in the agent's container: nothing else of the task's folder is there.
 */
import { join } from 'node:path'
import { shellWord } from '../../../machine/processes/typed-command.ts'
import type { AssistantMessage } from '../../../messages/message.ts'
import { calling } from '../../contract/agent-tool.ts'
import { filesBelow, type TaskFolder } from './task-folder.ts'

/** The actions of an agent that does nothing. */
export const nothing: readonly AssistantMessage[] = [calling('done', {})]

/** Letters of a file that one command writes. */
const pieceLetters = 60_000

/** The actions of `solution/solve.sh`; undefined where there is none. */
export function solutionOf({ path, rules }: TaskFolder): readonly AssistantMessage[] | undefined {
  const files = filesBelow(join(path, 'solution'))
  const solve = files.find((file) => file.path === 'solve.sh')
  if (solve === undefined) return undefined
  const text = Buffer.from(solve.content).toString()
  const exports = Object.entries(rules.solutionEnvironment).map(
    ([name, value]) => `export ${name}=${shellWord(value)}\n`,
  )
  // A script without other files is a command that an agent would type.
  const isAlone = files.length === 1 && !/\/solution\b|\$0\b|BASH_SOURCE/.test(text)
  if (isAlone && text.length <= pieceLetters)
    return [calling('bash', { command: `${exports.join('')}${text}` }), ...nothing]
  const writes = files.flatMap(({ path: file, content }) => {
    const place = shellWord(`/solution/${file}`)
    return piecesOf(Buffer.from(content).toString('base64')).map(
      (piece, at) =>
        `mkdir -p "$(dirname ${place})" && base64 -d ${at === 0 ? '>' : '>>'} ${place} <<'PIECE'\n${piece}\nPIECE`,
    )
  })
  const run = `chmod -R a+rx /solution\n${exports.join('')}/solution/solve.sh`
  return [...[...writes, run].map((command) => calling('bash', { command })), ...nothing]
}

/** Whole groups of four letters, so that each piece can be decoded. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = []
  for (let at = 0; at === 0 || at < text.length; at += pieceLetters)
    pieces.push(text.slice(at, at + pieceLetters))
  return pieces
}
