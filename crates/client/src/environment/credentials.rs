//! The credentials that belong to agents: keys of model providers, and tokens of the agents themselves.
//!
//! They are in the environment of a harness because the harness needs them. A command that it starts seldom does,
//! and could print them into an output or hand them to a program from elsewhere. The table has only variables
//! whose purpose is to pay for a model or to log in to an agent. Credentials for the user's own work
//! (`GITHUB_TOKEN`, `AWS_ACCESS_KEY_ID`, `NPM_TOKEN`, …) are not in it: commands need them.
//!
//! `docs/configuration.md` lists the same names; a test compares them.

/// Names of variables, by whose they are.
pub const CREDENTIALS: [(&str, &[&str]); 3] = [
    (
        "agents",
        &[
            "AMP_API_KEY",
            "AUGMENT_API_TOKEN",
            "AUGMENT_SESSION_AUTH",
            "CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_SESSION_ACCESS_TOKEN",
            "CLINE_API_KEY",
            "CODEX_ACCESS_TOKEN",
            "CODEX_API_KEY",
            "COPILOT_GITHUB_TOKEN",
            "COPILOT_PROVIDER_API_KEY",
            "CURSOR_API_KEY",
            "CURSOR_AUTH_TOKEN",
            "FACTORY_API_KEY",
            "KILO_API_KEY",
            "OPENCODE_API_KEY",
        ],
    ),
    (
        "model providers",
        &[
            "AI_GATEWAY_API_KEY",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_CUSTOM_HEADERS",
            "ANTHROPIC_FOUNDRY_API_KEY",
            "AWS_BEARER_TOKEN_BEDROCK",
            "AZURE_OPENAI_API_KEY",
            "CEREBRAS_API_KEY",
            "DASHSCOPE_API_KEY",
            "DEEPSEEK_API_KEY",
            "FIREWORKS_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
            "GROQ_API_KEY",
            "MISTRAL_API_KEY",
            "MOONSHOT_API_KEY",
            "OPENAI_API_KEY",
            "OPENROUTER_API_KEY",
            "TOGETHER_API_KEY",
            "XAI_API_KEY",
            "ZAI_API_KEY",
        ],
    ),
    // Gemini CLI takes this one too. A key for other services of Google has the same name, but a harness that has
    // one for its model cannot be told apart from one that has not.
    ("Google", &["GOOGLE_API_KEY"]),
];

/// Whether this variable holds a credential of an agent.
pub fn is_credential(name: &[u8]) -> bool {
    let mut all = CREDENTIALS.iter().flat_map(|(_, names)| *names);
    all.any(|known| known.as_bytes() == name)
}
