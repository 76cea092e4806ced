//! Tells the linker where the keeper's variables are to lie.
#![forbid(unsafe_code)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=keeper.ld");
    let is = |what: &str, value: &str| env::var(what).is_ok_and(|found| found == value);
    // What ships; others have another linker, or another C library with variables of other names.
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("CARGO_CFG_TARGET_ENV", "musl") {
        let here = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bin=outlive-keeper=-Wl,-T,{here}/keeper.ld");
    }
}
