/** MLflow's names for runs and parameters, in a file store and on a server alike. */

/** All runs are in one. */
export const experimentName = 'perdure'

/** MLflow refuses a parameter with a longer text. */
const longestParameter = 6000

/** Every key of a configuration with its value, as texts. @example parametersOf({ a: { b: 1 } }) // [['a.b', '1']] */
export function parametersOf(part: object, prefix = ''): readonly (readonly [string, string])[] {
  return Object.entries(part).flatMap(([name, value]: [string, unknown]) => {
    const key = `${prefix}${name}`
    if (typeof value === 'object' && value !== null) return parametersOf(value, `${key}.`)
    return [[key, String(value).slice(0, longestParameter)] as const]
  })
}

/** A name without signs that MLflow refuses, which leads out of no folder. */
export function allowedName(name: string): string {
  return name
    .replaceAll(/[^\w\-. :/]/g, '_')
    .split('/')
    .map((part) => (/^\.*$/.test(part) ? '_' : part))
    .join('/')
}
