// Written by `outlive setup opencode`, and removed by `outlive setup opencode --undo`.
// Names the conversation to its shells and to Outlive's tools, and tells it the news of its jobs.
import { spawn } from "node:child_process"

// Calls a hook of Outlive. Returns the news, or nothing.
const hook = (event, call) =>
  new Promise((resolve) => {
    const hook = spawn("outlive", ["hook", event, "--agent", "opencode"])
    let answer = ""
    // A hook that waits prints the news on stderr; the others print an answer in JSON.
    hook[event === "wait" ? "stderr" : "stdout"].on("data", (data) => (answer += data))
    hook.on("error", () => resolve(""))
    hook.on("close", (code) => {
      if (event === "wait") return resolve(code === 2 ? answer.trim() : "")
      try {
        resolve(JSON.parse(answer).hookSpecificOutput.additionalContext ?? "")
      } catch {
        resolve("")
      }
    })
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(call))
  })

export const Outlive = async ({ client }) => {
  // The conversation that sent off a helper, or the conversation itself. It is told the news of both.
  const root = async (id) => {
    const session = await client.session.get({ path: { id } })
    return session.data?.parentID ? root(session.data.parentID) : id
  }
  const isHelper = async (id) => (await root(id)) !== id
  // News with which a conversation could not be woken. It is told with the next prompt or tool call.
  const left = new Map()
  const wake = async (id) => {
    if (await isHelper(id)) return
    const text = await hook("wait", { session_id: id })
    if (!text) return
    const prompt = { path: { id }, body: { parts: [{ type: "text", text }] } }
    const woken = await client.session.promptAsync(prompt).catch((error) => ({ error }))
    if (woken?.error) left.set(id, [left.get(id), text].filter(Boolean).join("\n\n"))
  }
  const news = async (event, call) => {
    const before = left.get(call.session_id)
    left.delete(call.session_id)
    return [before, await hook(event, call)].filter(Boolean).join("\n\n")
  }
  // When each tool call began.
  const begun = new Map()
  return {
    "shell.env": async (input, output) => {
      if (input.sessionID && !process.env.OUTLIVE_SESSION)
        output.env.OUTLIVE_SESSION = await root(input.sessionID).catch(() => input.sessionID)
    },
    "chat.message": async (input, output) => {
      const last = output.parts.at(-1)
      if (!last || (await isHelper(input.sessionID).catch(() => true))) return
      const text = await news("user-prompt-submit", { session_id: input.sessionID })
      // Parts are in the order of their ids.
      if (text) output.parts.push({ ...last, id: `${last.id}z`, type: "text", text, synthetic: true })
    },
    "tool.execute.before": async (input, output) => {
      begun.set(input.callID, Date.now())
      if (!input.tool.startsWith("outlive_")) return
      const session = await root(input.sessionID).catch(() => input.sessionID)
      output.args.outlive_caller = { session, helper: session !== input.sessionID }
    },
    "tool.execute.after": async (input, output) => {
      const duration_ms = Date.now() - (begun.get(input.callID) ?? Date.now())
      begun.delete(input.callID)
      delete input.args?.outlive_caller
      if (await isHelper(input.sessionID).catch(() => true)) return
      const text = await news("post-tool-use", { session_id: input.sessionID, duration_ms })
      if (text && Array.isArray(output.content)) output.content.push({ type: "text", text })
      else if (text) output.output = `${output.output ?? ""}\n\n${text}`
    },
    event: async ({ event }) => {
      // Not waited for: it lasts as long as jobs run.
      if (event.type === "session.idle") wake(event.properties.sessionID).catch(() => {})
    },
  }
}
