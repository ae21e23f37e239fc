/** The matrices of a layer that an adapter may change, by the names that PEFT and servers give them. */
export const adapterTargets = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const

export type AdapterTarget = (typeof adapterTargets)[number]
