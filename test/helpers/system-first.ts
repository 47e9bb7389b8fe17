/** A template that takes system text in front only, as those of many newer models do. */
export function systemFirst(original: string): string {
  return `{%- for m in messages %}{%- if m.role == "system" and not loop.first %}{{- raise_exception("System text comes first.") }}{%- endif %}{%- endfor %}${original}`
}
