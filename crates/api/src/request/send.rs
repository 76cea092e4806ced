//! `send`

use crate::input::WriteId;
use crate::key::Key;
use crate::os_text::OsText;
use serde::{Deserialize, Serialize};

/// What to write to a job's input, in this order: text, Enter, keys, end of input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Send {
    /// The text, byte for byte.
    pub text: OsText,
    /// Marks the text as pasted, if the program asked for that.
    pub paste: bool,
    /// Press Enter after it.
    pub enter: bool,
    /// Then press these keys.
    pub keys: Vec<Key>,
    /// Then end the input.
    pub eof: bool,
    /// A second send with this id writes nothing.
    pub write_id: Option<WriteId>,
}
