// Whether a text asks for a conversation to be condensed, and for nothing else: words as data. Used only where no
// agent's file knows a request, and never alone (generic.ts).

interface Language {
  /** Words for the act. */
  readonly act: string
  /** Words for what is condensed. */
  readonly object: string
  /** The act comes first, or right behind its object: `summarize the conversation`, `context summarization`. */
  readonly inOrder?: true
}

/** A word of the act and one for its object must stand in one sentence. */
const languages: readonly Language[] = [
  { inOrder: true, act: 'summar(?:y|ies|i[sz](?:e[sdr]?|ing|ation))|condens(?:e[sdr]?|ing)|compact(?:s|ing|ion)?|compress(?:es|ing|ion)?|recap', object: 'conversations?|dialog(?:ue)?s?|chat|transcript|history|session|discussion|exchange|trajectory|messages|interaction|context|(?:the|everything) above|so far' },
  { act: 'fass(?:e|t|en)?|zusammenfass\\p{L}*|zusammenzufassen|verdicht\\p{L}*|komprimier\\p{L}*', object: 'gespräch\\p{L}*|unterhaltung|verlauf\\p{L}*|gesprächsverlauf|sitzung|konversation' },
  { act: 'résum\\p{L}*|condens\\p{L}*|synthétis\\p{L}*', object: 'conversation|discussion|échanges?|historique|dialogue|session' },
  { act: 'resum\\p{L}*|condens\\p{L}*|sintetiz\\p{L}*', object: 'conversaci[oó]n|di[aá]logo|historial|sesi[oó]n|conversa|hist[oó]rico|sess[aã]o' },
  { act: 'riassum\\p{L}*|sintetizz\\p{L}*', object: 'conversazione|dialogo|cronologia|sessione' },
  { act: '(?:суммир|обобщ|резюмир|сожм)\\p{L}*|краткое', object: '(?:разговор|диалог|бесед|истори|переписк)\\p{L}*' },
]

/** Scripts without spaces between words. */
const unspaced: readonly Language[] = [
  { act: '总结|總結|摘要|概括|压缩|壓縮', object: '对话|對話|会话|會話|聊天|历史|歷史|上下文' },
  { act: '要約|まとめ|圧縮', object: '会話|対話|履歴|やり取り' },
  { act: '요약|압축', object: '대화|세션|기록' },
]

/** Other work on a conversation that is asked for in the same words: titles, memory, plans, judgement, answers in a form. */
const otherWork = word('titles?|headlines?|topics?|tags?|labels?|captions?|categor(?:y|ies|i[sz]e)|keywords?|emojis?|name (?:for|this|the)|commit message|changelog|memor(?:y|ies)|' +
  'remember|facts|preferences|critic|critique|criticise|review(?:er|s|ing)?|evaluat\\p{L}*|grad(?:e|ing)|judges?|scores?|rate|rating|classif\\p{L}*|moderat\\p{L}*|' +
  'plan(?:s|ner|ning)?|translat\\p{L}*|suggest\\p{L}*|follow-?ups?|quer(?:y|ies)|sentiment|titel|überschrift|titre|título|titolo|заголовок')
const otherWorkUnspaced = /标题|標題|题目|主题|记忆|評価|评价|评审|タイトル|題名|記憶|제목|기억/u

const negations = /(?:\b(?:not|never|without|no|don't|nicht|kein\p{L}*|pas|sans|sin|sem|non|senza|cannot|can't)|(?<!\p{L})(?:не|без))\s+(?:\p{L}+\s+){0,2}$/iu

const acts = new RegExp([...languages.map(({ act }) => `(?<!\\p{L})(?:${act})(?!\\p{L})`), ...unspaced.map(({ act }) => act)].join('|'), 'iu')

const pairs = [
  ...languages.map(({ act, object, inOrder }) => ({ act: word(act), object: word(object), inOrder: inOrder === true })),
  ...unspaced.map(({ act, object }) => ({ act: new RegExp(act, 'u'), object: new RegExp(object, 'u'), inOrder: false })),
]

function word(alternatives: string): RegExp {
  return new RegExp(`(?<!\\p{L})(?:${alternatives})(?!\\p{L})`, 'iu')
}

/** How much of a text says what it is for, in characters. */
export const opening = 160
/** Longest sentence that is looked at, in characters. */
const longestSentence = 400

/** Whether a text has a word of the act at all: cheap, and before anything is parsed. */
export function speaksOfCondensing(text: string): boolean {
  return acts.test(text)
}

/** Whether a text has a word for other work on a conversation. */
export function asksForOther(text: string): boolean {
  return otherWork.test(text) || otherWorkUnspaced.test(text)
}

/** Whether a text asks for the conversation to be condensed. */
export function asksToCondense(text: string): boolean {
  if (asksForOther(text.slice(0, opening))) return false
  return text.split(/[.!?。！？]\s|[。！？\n]+/u).some((sentence) => {
    const said = sentence.slice(0, longestSentence)
    return pairs.some(({ act, object, inOrder }) => {
      const found = act.exec(said)
      return found !== null && isObject(said, found, object, inOrder) && !negations.test(said.slice(0, found.index)) && !asksForOther(said)
    })
  })
}

function isObject(said: string, act: RegExpExecArray, object: RegExp, inOrder: boolean): boolean {
  if (!inOrder) return object.test(said)
  if (object.test(said.slice(act.index + act[0].length))) return true
  const before = said.slice(0, act.index).trimEnd()
  const last = before.slice(before.lastIndexOf(' ') + 1)
  return object.exec(last)?.[0] === last
}
