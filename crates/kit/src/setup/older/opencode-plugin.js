// Written by `outlive setup opencode`, and removed by `outlive setup opencode --undo`.
// Names the conversation to its shells, and wakes it when there is news of its jobs.
import { spawn } from "node:child_process"

// Ends with 2 and the news on stderr, or with 0 and nothing.
const news = (session) =>
  new Promise((resolve) => {
    const hook = spawn("outlive", ["hook", "wait", "--agent", "opencode"])
    let text = ""
    hook.stderr.on("data", (data) => (text += data))
    hook.on("error", () => resolve(""))
    hook.on("close", (code) => resolve(code === 2 ? text.trim() : ""))
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify({ session_id: session }))
  })

export const Outlive = async ({ client }) => {
  // A helper's jobs are told to the conversation that sent it off.
  const root = async (id) => {
    const session = await client.session.get({ path: { id } })
    return session.data?.parentID ? root(session.data.parentID) : id
  }
  const wake = async (id) => {
    if ((await root(id)) !== id) return
    const text = await news(id)
    if (text) await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text }] } })
  }
  return {
    "shell.env": async (input, output) => {
      if (input.sessionID && !process.env.OUTLIVE_SESSION)
        output.env.OUTLIVE_SESSION = await root(input.sessionID).catch(() => input.sessionID)
    },
    event: async ({ event }) => {
      // Not waited for: it lasts as long as jobs run.
      if (event.type === "session.idle") wake(event.properties.sessionID).catch(() => {})
    },
  }
}
