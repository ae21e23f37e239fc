/**
 * How scripts are started in a container: the command line of a language, and the agent's own shell.
 *
 * Invariants
 * - Arguments follow the script as AgentBench passes them: `$1` is the answer, then the outputs before it.
 * - The state that the agent's shell carries over is kept in the agent's container and trusted by no one else.
 */
import { shellWord } from '../../../machine/processes/typed-command.ts'
import type { Script } from '../script.ts'

/** A shell line that becomes the script. Compiled languages are compiled into /tmp first. */
export function lineOf(script: Script, args: readonly string[] = []): string {
  return `exec ${commandOf(script, args).map(shellWord).join(' ')}`
}

function commandOf({ language, code }: Script, args: readonly string[]): readonly string[] {
  switch (language) {
    case 'bash':
      return ['bash', '-c', code, '--', ...args]
    case 'python':
      return ['python3', '-c', code, ...args]
    case 'c':
    case 'c++': {
      const [compiler, suffix] = language === 'c' ? ['gcc', 'c'] : ['g++', 'cpp']
      const compile = `printf %s "$0" > /tmp/main.${suffix} && ${compiler} -o /tmp/a.out /tmp/main.${suffix} >&2 && exec /tmp/a.out "$@"`
      return ['bash', '-c', compile, code, ...args]
    }
  }
}

/** Outside of the root file system, so that it is in the way of no question about files. */
const stateFile = '/dev/shm/.shell'

/** Variables that a shell has by itself. */
const ownVariables =
  'BASH.*|_|DIRSTACK|EUID|UID|GROUPS|PPID|SHELLOPTS|SHLVL|RANDOM|SRANDOM|SECONDS|LINENO|EPOCH.*|FUNCNAME|PIPESTATUS|COMP_.*|OPTIND|OPTERR|HOST.*|MACHTYPE|OSTYPE|IFS'

/**
 * The agent's script as the next one of a shell that continues: folder, variables and functions carry over, and
 * both streams are one, as on a terminal.
 */
export function continued(script: string): string {
  const save = `{ printf 'cd -- %q\\n' "$PWD"; declare -p $(compgen -v | grep -vxE '${ownVariables}'); declare -f; } > ${stateFile} 2>&1`
  const restore = `[ -r ${stateFile} ] && . ${stateFile} > /dev/null 2>&1`
  return `exec 2>&1; ${restore}; trap ${shellWord(save)} EXIT\n${script}`
}
