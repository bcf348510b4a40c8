// The two editors: the input, with its problems underlined, and the manifests, with where each line comes from behind it.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  WidgetType,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { element } from "./element.js";

// Colors are those of style.css, which follows the system's light or dark theme.
const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--text-value)" },
  { tag: tags.content, color: "var(--value)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.meta, tags.separator, tags.punctuation], color: "var(--faint)" },
]);

const shared = [yaml(), syntaxHighlighting(colors), EditorView.editorAttributes.of({ translate: "no" })];

export function inputEditor(parent, { onChange, onLine, explain }) {
  return new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        ...shared,
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        indentUnit.of("  "),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        lintGutter(),
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        hoverTooltip((view, position) => tooltip(view, position, explain), { hoverTime: 250 }),
        EditorView.contentAttributes.of({ "aria-label": "YAML of TrainJobs and runtimes" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
          if (update.docChanged || update.selectionSet) onLine(lineOf(update.state));
        }),
      ],
    }),
  });
}

export function manifestEditor(parent, onLine) {
  return new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        ...shared,
        lineNumbers(),
        notes,
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-label": "Manifests" }),
        EditorView.domEventHandlers({
          click: (event, view) => {
            const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
            if (position !== null) onLine(view.state.doc.lineAt(position).number);
          },
        }),
      ],
    }),
  });
}

export function setText(view, text) {
  if (view.state.doc.toString() !== text) {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }
}

export function lineOf(state) {
  return state.doc.lineAt(state.selection.main.head).number;
}

export function goTo(view, line, column = 1, { focus = true } = {}) {
  const at = offset(view.state.doc, line, column);
  view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
  if (focus) view.focus();
}

// Edits of trainc's, as one step that can be undone.
export function edit(view, edits) {
  const at = (line, column) => (line > view.state.doc.lines ? view.state.doc.length : offset(view.state.doc, line, column));
  view.dispatch({ changes: edits.map((one) => ({ from: at(one.line, one.column), to: at(one.endLine, one.endColumn), insert: one.text })), userEvent: "input.fix" });
  view.focus();
}

// trainc counts lines and characters from 1, and a character beyond the basic plane once.
function offset(doc, line, column) {
  const { from, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return from + [...text].slice(0, column - 1).join("").length;
}

export function showProblems(view, problems, file) {
  const { doc } = view.state;
  const marks = problems
    .filter(({ source }) => source && source.file === file && source.line <= doc.lines)
    .map((problem) => {
      const from = offset(doc, problem.source.line, problem.source.column);
      const rest = doc.lineAt(from).text.slice(from - doc.lineAt(from).from);
      const word = /^(?:"[^"]*"|'[^']*'|[^\s:,\]}#]+)/.exec(rest);
      return {
        from,
        to: from + (word ? word[0].length : rest.length),
        severity: problem.severity,
        message: problem.message,
        renderMessage: () => said(problem),
      };
    });
  view.dispatch(setDiagnostics(view.state, marks));
}

function said({ code, message, hint }) {
  const parts = [element("div", {}, element("b", {}, code), ` ${message}`)];
  if (hint) parts.push(element("div", { class: "hint" }, `help: ${hint}`));
  return element("div", {}, ...parts);
}

function tooltip(view, position, explain) {
  const line = view.state.doc.lineAt(position);
  const column = [...line.text.slice(0, position - line.from)].length + 1;
  const content = explain(line.number, column);
  return content && { pos: position, above: false, create: () => ({ dom: element("div", { class: "hover" }, content) }) };
}

// Notes behind the lines of the manifests.
export const setNotes = StateEffect.define();

class Note extends WidgetType {
  constructor(text, kind) {
    super();
    this.text = text;
    this.kind = kind;
  }
  eq(other) {
    return other.text === this.text;
  }
  toDOM() {
    return element("span", { class: `note ${this.kind}` }, `← ${this.text}`);
  }
}

const notes = StateField.define({
  create: () => Decoration.none,
  update(shown, transaction) {
    let next = shown.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setNotes)) next = decorations(transaction.state.doc, effect.value);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function decorations(doc, { fields, marked }) {
  const found = [];
  for (const { line, origins } of fields) {
    if (line < 1 || line > doc.lines) continue;
    const widget = new Note(origins[0].phrase, origins[0].kind);
    found.push(Decoration.widget({ widget, side: 1 }).range(doc.line(line).to));
    if (marked.has(line)) found.push(Decoration.line({ class: "marked" }).range(doc.line(line).from));
  }
  return Decoration.set(found, true);
}
