/**
 * Problems about processes: count them, find one, stop some.
 *
 * Invariants
 * - Every kind can be solved with what its description says.
 */
import type { Draw } from '../../../generated/draw.ts'
import { nouns, people } from '../../../generated/words.ts'
import { kindsAbout, type Problem, type ProblemKind } from '../problem.ts'
import type { World, WorldProcess } from '../world.ts'

/** Processes of several users; no two use the same share of memory. */
function running(draw: Draw): readonly WorldProcess[] {
  const users = draw.some(people, draw.int(2, 4))
  const programs = draw.some(nouns, draw.int(4, 8)).map((noun) => `${noun}d`)
  const shares = draw.some(
    draw.times(120, (index) => (index + 1) / 10),
    20,
  )
  let pid = 100
  const started = draw.times(draw.int(8, 20), (index): WorldProcess => {
    pid += draw.int(1, 90)
    return {
      pid,
      user: draw.one(users),
      cpu: draw.int(0, 90) / 10,
      memory: shares[index] ?? 0,
      command: `/usr/bin/${draw.one(programs)} --port ${draw.int(1_000, 9_999)}`,
    }
  })
  return [{ pid: 1, user: 'root', cpu: 0, memory: 0, command: '/sbin/init' }, ...started]
}

function worldOf(processes: readonly WorldProcess[]): World {
  return { files: [], folders: [], processes }
}

function others(processes: readonly WorldProcess[]): readonly WorldProcess[] {
  return processes.filter(({ pid }) => pid !== 1)
}

function stopping(
  description: string,
  processes: readonly WorldProcess[],
  isStopped: (process: WorldProcess) => boolean,
  script: string,
): Problem {
  const left = processes.filter((process) => !isStopped(process))
  return {
    description,
    world: worldOf(processes),
    solution: [script],
    goal: { kind: 'processes', pids: left.map(({ pid }) => pid) },
  }
}

function programOf({ command }: WorldProcess): string {
  return command.split(' ')[0]?.split('/').at(-1) ?? ''
}

const { easy, normal, hard } = kindsAbout('processes')

export const processProblems: readonly ProblemKind[] = [
  easy('count-of-user', (draw) => {
    const processes = running(draw)
    const { user } = draw.one(others(processes))
    const count = processes.filter((process) => process.user === user).length
    return {
      description: `How many processes does the user ${user} run?`,
      world: worldOf(processes),
      solution: [`pgrep -u ${user} | wc -l`],
      goal: { kind: 'answer', answer: String(count) },
    }
  }),
  easy('stop-like', (draw) => {
    const processes = running(draw)
    const { pid, user } = draw.one(others(processes))
    const left = processes.filter((process) => process.user !== user)
    return {
      description: `Stop every process of the user who runs process ${pid}. Leave the other processes running.`,
      world: worldOf(processes),
      solution: [`ps -p ${pid} -o user=`, `pkill -u ${user}`, `pgrep -u ${user} | wc -l`],
      goal: { kind: 'processes', pids: left.map((process) => process.pid) },
    }
  }),
  normal('stop-program', (draw) => {
    const processes = running(draw)
    const program = programOf(draw.one(others(processes)))
    return stopping(
      `Stop every process of the program ${program}. Leave the other processes running.`,
      processes,
      (process) => programOf(process) === program,
      `pkill -x ${program}`,
    )
  }),
  normal('most-memory', (draw) => {
    const processes = running(draw)
    const [most] = processes.toSorted((left, right) => right.memory - left.memory)
    return {
      description: 'Which process uses the most memory? Answer its process id.',
      world: worldOf(processes),
      solution: [`ps aux | sort -rn -k4 | head -n 1 | awk '{print $2}'`],
      goal: { kind: 'answer', answer: String(most?.pid) },
    }
  }),
  hard('stop-hungry', (draw) => {
    const processes = running(draw)
    const { user, memory } = draw.one(others(processes))
    const limit = Math.max(0.1, memory - draw.int(1, 20) / 10).toFixed(1)
    return stopping(
      `Stop every process of the user ${user} that uses more than ${limit} % of the memory. Leave the other processes running.`,
      processes,
      (process) => process.user === user && process.memory > Number(limit),
      `ps aux | awk '$1 == "${user}" && $4 > ${limit} {print $2}' | xargs kill`,
    )
  }),
]
