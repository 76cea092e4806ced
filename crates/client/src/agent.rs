//! What the agents on this machine do now: which process is an agent, and which conversation it has.
//!
//! An agent's hooks run for one conversation and know its name. An MCP server of the same agent may not
//! know it: some agents do not tell it, and others change the conversation without telling it. So hooks
//! write down the conversation of their agent's process, and the server reads that with each call.
//!
//! ```text
//!   agent ─┬─► sh -c 'outlive hook …'   writes  agents/<process>/conversation
//!          └─► outlive mcp              reads it; both find the agent as their parent
//! ```

mod conversation;
mod helper;
mod process;
mod transcript;

pub use conversation::{Conversation, Turn};
pub use helper::ToolCall;
pub use outlive_core::told::{AgentProcess, HandedWith, Sign};
pub use process::{is_gone, is_well, of_caller};
pub use transcript::Transcript;
