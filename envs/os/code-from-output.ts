/**
 * Checks that make code of what they read: output of the agent's work, put into the text of a program or a condition,
 * decides then instead of being decided on.
 *
 * Invariants
 * - It reads the text of a script and claims too much rather than too little: what it finds is a warning for the item's
 *   author, and no item is left out.
 */
import type { Script } from './script.ts'

/** An expansion of a shell; in arithmetic the content of a variable is an expression itself, and may hold commands. */
const expansion = String.raw`(?:\$[({A-Za-z_0-9@*]|\x60)`
const quoted = String.raw`"(?:[^"\\]|\\.)*?${expansion}`

const inShell: Readonly<Record<string, RegExp>> = {
  'the text of another program': new RegExp(
    String.raw`(?:\b(?:python3?|perl|ruby|node|php|bash|sh|su|runuser)\b[^\n;|&"']*\s-\w*[ce]|\b[gm]?awk(?:\s+-\S+)*|\b(?:bc|dc)\s*<<<)\s*${quoted}`,
  ),
  'the input of an interpreter': new RegExp(
    String.raw`${expansion}[^\n;&]*\|\s*(?:bc|dc|sh|bash|python3?|perl)\s*(?:$|[;&|)\x60-])`,
    'm',
  ),
  '`eval`': /(?:^|[\s;&|(])eval\s/m,
  'a file that it sources': /(?:^|[;&|({]\s*)(?:source|\.)\s+\S/m,
  arithmetic: new RegExp(
    String.raw`\(\([^\n]*?(?:\$\((?!\()|\x60|\$\d)|\[\[[^\n\]]*${expansion}[^\n\]]*\s-(?:eq|ne|lt|le|gt|ge)\s|\[\[[^\n\]]*\s-(?:eq|ne|lt|le|gt|ge)\s[^\n\]]*${expansion}`,
  ),
  'a condition, unquoted': new RegExp(
    String.raw`(?:^|[;&|(!]\s*|\b(?:if|while|until|elif)\s+)(?:\[|test)\s(?:"[^"\n]*"|'[^'\n]*'|[^"'\n\]])*?${expansion}`,
    'm',
  ),
}

const inPython: Readonly<Record<string, RegExp>> = {
  '`eval`': /(?<![.\w])(?:eval|exec)\s*\(/,
  "a shell's text": /\bos\.(?:system|popen)\s*\(|shell\s*=\s*True/,
}

/** Describes how the script turns its input into code; undefined when it does not. */
export function codeFromOutput({ language, code }: Script): string | undefined {
  const rules = language === 'bash' ? inShell : language === 'python' ? inPython : {}
  const read = language === 'bash' ? withoutComments(code) : code
  return Object.keys(rules).find((what) => rules[what]?.test(read))
}

function withoutComments(code: string): string {
  return code.replaceAll(/^\s*#.*$/gm, '')
}
