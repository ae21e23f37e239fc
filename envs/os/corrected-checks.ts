/**
 * Published checks that make code of what the agent's work prints, in a form that compares it as data.
 *
 * The publisher's check of `calc` puts its output into the text of a Python program, so one that prints `0)<1)#` is paid;
 * the check of `count` leaves it unquoted in `[ … ]`, where more words change the condition; a third one sources the
 * agent's `.bashrc`, which may end the check. Each such check becomes three scripts: what is expected, what the agent's
 * command prints, and their comparison.
 *
 * Invariants
 * - [CORRECTED-1] The output of the agent's work is an argument of the comparison, and part of no script's text.
 * - [CORRECTED-2] The expected value is computed before the agent's command runs, and compared by a script that looks at
 *   nothing, so it runs where the agent never was (`onlyCompares` in `containers/grader.ts`).
 * - Inputs, expected values and tolerance are the publisher's. A check of any other form is left as it is.
 */
import { shellWord } from '../../machine/processes/typed-command.ts'
import type { Script } from './script.ts'

/** One question to the agent's command, both as shell text. */
interface Call {
  readonly expected: string
  readonly observed: string
}

interface Form {
  /** A text that only checks of this form contain. */
  readonly mark: RegExp
  /** A call in its text. */
  readonly call: RegExp
  /** @param found groups of `call` */
  read(found: readonly string[]): Call
  readonly compare: 'numbers' | 'texts'
  /** Whether what is expected needs functions that come before the first call. */
  readonly hasFunctions?: true
}

const forms: readonly Form[] = [
  {
    mark: /python3 -c "print\(abs\(\$output - \$expected_result\)<1e-5\)"/,
    call: /^\[ `check "([^"$`\\]*)"`x != Truex \] && exit 1$/gm,
    read: ([expression = '']) => ({
      expected: `python3 -c ${shellWord(`print("%.6f"%(${expression}))`)}`,
      observed: `calc ${shellWord(expression)}`,
    }),
    compare: 'numbers',
  },
  {
    mark: /^count_files\(\) \{/m,
    call: /^\[ `count_files "([^"$`\\]*)"`x != `count "\1"`x \] && exit 1$/gm,
    read: ([folder = '']) => ({
      expected: `count_files ${shellWord(folder)}`,
      observed: `count ${shellWord(folder)}`,
    }),
    compare: 'texts',
    hasFunctions: true,
  },
  {
    // It also ends with success after the first date that is right.
    mark: /output=`date-format "\$1" "\$2"` \|\| exit 1/,
    call: /^check "([^"$`\\]*)" "([^"$`\\]*)" \|\| exit 1$/gm,
    read: ([date = '', format = '']) => ({
      expected: `date -d ${shellWord(date)} +${shellWord(format)}`,
      observed: `date-format ${shellWord(date)} ${shellWord(format)} || echo failed`,
    }),
    compare: 'texts',
  },
  {
    mark: /^source ~\/\.bashrc && /,
    call: /^source ~\/\.bashrc && x=\$\(([\w-]+)\) && \[ "\$x" == "([^"$`\\]*)" \] && exit 0$/gm,
    // The PATH that the file sets is data, too; a function that it defines is no program in a folder.
    read: ([command = '', text = '']) => ({
      expected: `printf %s ${shellWord(text)}`,
      observed: `PATH=$(bash -c '. ~/.bashrc > /dev/null 2>&1; printf %s "$PATH"'); command ${command}`,
    }),
    compare: 'texts',
  },
]

/** The scripts that stand for a check, in a chain: itself, unless it is of a form that is corrected. */
export function correctedCheck(script: Script): readonly Script[] {
  if (script.language !== 'bash') return [script]
  const code = script.code.replaceAll('\r\n', '\n').trim()
  for (const { mark, call, read, compare, hasFunctions } of forms) {
    const found = [...code.matchAll(call)]
    const [first] = found
    if (first === undefined || !mark.test(code)) continue
    const calls = found.map(([, ...groups]) => read(groups))
    return [
      showing(
        calls.map(({ expected }) => expected),
        hasFunctions === true ? code.slice(0, first.index) : '',
      ),
      showing(calls.map(({ observed }) => observed)),
      { language: 'python', code: comparing(comparisons[compare]) },
    ]
  }
  return [script]
}

/** Longer than any right answer, and soon reached by a command that never stops talking. */
const shownBytes = 1_000

/** Prints what each command prints, one line for each. */
function showing(commands: readonly string[], functions = ''): Script {
  const lines = commands.map((command) => `show "$({ ${command}; } | head -c ${shownBytes})"`)
  // No line break of an output is taken for the next one.
  const show = `show() { printf '%s\\n' "\${1//$'\\n'/$'\\x01'}"; }`
  return { language: 'bash', code: [functions, show, ...lines].join('\n') }
}

const comparisons = {
  numbers: `try:
    return abs(float(output) - float(expected)) < 1e-5
  except ValueError:
    return False`,
  texts: 'return output.strip() == expected.strip()',
} as const

/** The outputs of the two scripts before it are its last arguments. A script that something ended early has shown nothing expected. */
function comparing(rule: string): string {
  return `from sys import argv
def same(expected, output):
  ${rule}
expected, outputs = (text.split("\\n")[:-1] for text in argv[-2:])
exit(0 if expected and len(expected) == len(outputs) and all(map(same, expected, outputs)) else 1)`
}
