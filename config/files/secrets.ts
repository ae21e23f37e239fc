/**
 * Secrets: what a run needs and no one may read later.
 *
 * A configuration holds references to secrets, `${NAME}` for an environment variable or `${file:PATH}` for the content
 * of a file. They are stored as they stand and filled in when a task is opened (`machine/secrets/`).
 *
 * Invariants
 * - A configuration that is given with a secret in it is refused by its key; the message does not repeat it.
 */
import { type MissingSecret, withReferencesFilled } from '../../machine/secrets/secret.ts'
import { ConfigFault } from './fault.ts'

/** Keys whose text is a secret, by their last word: `apiKey`, `db_password`, `authToken`. */
const secretKey =
  /(^|[^a-z])(password|passwd|passphrase|secret|credential|credentials|(api|access|private|secret)[-_ ]?key|token)$/
/** Beginnings that the givers of keys use, and private keys in PEM. */
const secretText =
  /^(sk-|ghp_|gho_|github_pat_|glpat-|hf_|xox[abp]-|AKIA|AIza|eyJ[\w-]+\.eyJ)|-----BEGIN [A-Z ]*PRIVATE KEY-----/
const urlPassword = /^[a-z][a-z0-9+.-]*:\/\/[^/@\s:]*:([^/@\s]+)@/i
const onlyReferences = /^(\$\{(?:file:[^}]+|[A-Za-z_]\w*)\})+$/

/** A place in a configuration that holds a secret. */
export interface PlainSecret {
  readonly path: readonly (string | number)[]
  /** The error, and the correct form. */
  readonly advice: string
}

/** Finds secrets that are written out. @param path the place of the value */
export function plainSecrets(
  value: unknown,
  path: readonly (string | number)[] = [],
): readonly PlainSecret[] {
  if (typeof value === 'string') return secretsOfText(value, path)
  if (Array.isArray(value)) return value.flatMap((each, index) => plainSecrets(each, [...path, index]))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) => plainSecrets(each, [...path, key]))
}

function secretsOfText(text: string, path: readonly (string | number)[]): PlainSecret[] {
  if (text === '' || onlyReferences.test(text)) return []
  const [, password] = urlPassword.exec(text) ?? []
  if (password !== undefined)
    return onlyReferences.test(password)
      ? []
      : [
          {
            path,
            advice: `no password in the URL: put it into the environment and write \`\${NAME}\` in its place`,
          },
        ]
  const key = String(path.findLast((part) => typeof part === 'string') ?? '')
  const words = key.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()
  return secretKey.test(words) || secretText.test(text)
    ? [
        {
          path,
          advice: `a reference and no secret: put it into the environment and write \`\${NAME}\`, or \`\${file:PATH}\``,
        },
      ]
    : []
}

/**
 * The same settings with secrets in the place of their references.
 * @throws ConfigFault that names the key and what is missing
 */
export function withSecrets<Settings>(settings: Settings, key: string): Settings {
  return withReferencesFilled(settings, key, missing)
}

function missing({ at: key, reference: value, needed: allowed, cause }: MissingSecret): ConfigFault {
  const message = `\`${key}\` needs ${allowed}`
  return new ConfigFault('bad_value', [{ key, value, allowed, where: '', message }], { cause })
}
