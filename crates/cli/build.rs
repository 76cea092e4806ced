//! Tells the linker what is to lie side by side: it is asked for together.
#![forbid(unsafe_code)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=link");
    let is = |what: &str, value: &str| env::var(what).is_ok_and(|found| found == value);
    // What ships; others have another linker.
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("CARGO_CFG_TARGET_ENV", "musl") {
        let link = |program: &str, script: &str| {
            let here = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
            println!("cargo::rustc-link-arg-bin={program}=-T{here}/link/{script}.ld");
        };
        link("outlive", "outlive");
        link("outlive-keeper", "outlive-keeper");
    }
}
