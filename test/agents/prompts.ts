/** What the user of every session types; none of it talks of condensing anything. */
export const prompts = [
  'Read the notes in this folder one after another and tell me which depots they list.',
  'Go on with the next notes, and say which shelf is named most often.',
  'Read those that are left and compare them with the first ones.',
] as const
