/**
 * Secrets: what a run needs and no one may read later.
 *
 * A configuration holds references to secrets, `${NAME}` for an environment variable or `${file:PATH}` for the content
 * of a file. They are stored as they stand and filled in when a task is opened.
 *
 * Invariants
 * - A configuration that is given with a secret in it is refused by its key; the message does not repeat it.
 * - A secret that was filled in is known to this process, and `redact` removes it from every text that is to be kept.
 */
import { readTextSync } from '../../machine/files/text-file.ts'
import { ConfigFault } from './fault.ts'

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** Keys whose text is a secret, by their last word: `apiKey`, `db_password`, `authToken`. */
const secretKey =
  /(^|[^a-z])(password|passwd|passphrase|secret|credential|credentials|(api|access|private|secret)[-_ ]?key|token)$/
/** Beginnings that the givers of keys use, and private keys in PEM. */
const secretText =
  /^(sk-|ghp_|gho_|github_pat_|glpat-|hf_|xox[abp]-|AKIA|AIza|eyJ[\w-]+\.eyJ)|-----BEGIN [A-Z ]*PRIVATE KEY-----/
const urlPassword = /^[a-z][a-z0-9+.-]*:\/\/[^/@\s:]*:([^/@\s]+)@/i
const reference = /\$\{(?:file:([^}]+)|([A-Za-z_]\w*))\}/g
const onlyReferences = /^(\$\{(?:file:[^}]+|[A-Za-z_]\w*)\})+$/

/** Environment variables that hold secrets whenever they are set. */
const secretVariables = [
  'TEMPORAL_API_KEY',
  'PERDURE_PAYLOAD_KEYS',
  'PERDURE_METRICS_TOKEN',
  'PERDURE_CODEC_TOKEN',
  'PERDURE_UI_TOKEN',
  'MLFLOW_TRACKING_TOKEN',
  'MLFLOW_TRACKING_PASSWORD',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
] as const

/** The replacement of a secret in redacted texts. */
const mask = '***'
/** A shorter text is found in too many places by chance. */
const shortestRedacted = 6
const known = new Set<string>()

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
  return filled(settings as Json, key) as Settings
}

function filled(value: Json, key: string): Json {
  if (typeof value === 'string')
    return value.replaceAll(reference, (_, file: string | undefined, name: string | undefined) =>
      remembered(file === undefined ? fromEnvironment(name ?? '', key) : fromFile(file, key)),
    )
  if (Array.isArray(value)) return value.map((each: Json, index) => filled(each, `${key}.${index}`))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, filled(each, `${key}.${name}`)]),
  )
}

function fromEnvironment(name: string, key: string): string {
  const value = process.env[name]
  if (value === undefined || value === '')
    throw missing(key, `\${${name}}`, `the environment variable ${name}, which is not set here`)
  return value
}

function fromFile(file: string, key: string): string {
  try {
    return readTextSync(file).trim()
  } catch (cause) {
    throw missing(key, `\${file:${file}}`, `the file ${file}, which cannot be read here`, cause)
  }
}

function missing(key: string, value: string, allowed: string, cause?: unknown): ConfigFault {
  const message = `\`${key}\` needs ${allowed}`
  return new ConfigFault('bad_value', [{ key, value, allowed, where: '', message }], { cause })
}

/** Makes a secret known, so that no kept text holds it. @returns it */
export function remembered(secret: string): string {
  if (secret.length >= shortestRedacted) {
    known.add(secret)
    // A URL holds the password in its escaped form, JSON with quotes escaped.
    known.add(encodeURIComponent(secret))
    known.add(JSON.stringify(secret).slice(1, -1))
  }
  return secret
}

/** The text without any secret that this process knows of. */
export function redact(text: string): string {
  let redacted = text
  for (const name of secretVariables) {
    const value = process.env[name]
    if (value !== undefined && value.length >= shortestRedacted) redacted = redacted.replaceAll(value, mask)
  }
  for (const secret of known) if (redacted.includes(secret)) redacted = redacted.replaceAll(secret, mask)
  return redacted
}
