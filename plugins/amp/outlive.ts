// Written by `outlive setup amp`, and removed by `outlive setup amp --undo`.
// Tells a thread the news of its jobs, with each prompt and when it is idle.
import { spawn } from "node:child_process"

export const description = "Tells a thread when its jobs end"

// Calls a hook of Outlive. Returns what it answers, or nothing.
const hook = (event: string, thread: string): Promise<any> =>
  new Promise((resolve) => {
    const hook = spawn("outlive", ["hook", event, "--agent", "amp"])
    let answer = ""
    // A hook that waits prints the news on stderr; the others print an answer in JSON.
    hook[event === "wait" ? "stderr" : "stdout"].on("data", (data) => (answer += data))
    hook.on("error", () => resolve(undefined))
    hook.on("close", (code) => {
      if (event === "wait") return resolve(code === 2 ? answer.trim() : undefined)
      try {
        resolve(JSON.parse(answer))
      } catch {
        resolve(undefined)
      }
    })
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify({ thread_id: thread }))
  })

export default function (amp: any) {
  const greeted = new Set<string>()
  // News with which a thread could not be woken. It is told with the next prompt.
  const left = new Map<string, string>()
  const wake = async (thread: string) => {
    const content = await hook("wait", thread)
    if (!content) return
    try {
      await amp.threads.get(thread).appendUserMessage({ type: "user-message", content })
    } catch {
      left.set(thread, [left.get(thread), content].filter(Boolean).join("\n\n"))
    }
  }
  amp.on("agent.start", async (event: any) => {
    const thread = event.thread.id
    const isFirst = !greeted.has(thread)
    greeted.add(thread)
    const answer = await hook(isFirst ? "session-start" : "user-prompt-submit", thread)
    const before = left.get(thread)
    left.delete(thread)
    if (!before) return answer
    return { message: { content: [before, answer?.message?.content].filter(Boolean).join("\n\n") } }
  })
  amp.on("agent.end", async (event: any) => {
    // Not waited for: it lasts as long as jobs run.
    wake(event.thread.id).catch(() => {})
  })
}
