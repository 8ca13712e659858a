//! The form in which groups of commands are declared: a table, with a row for each command.

/// Declares a group of commands. A row is `Name(shared arguments; own arguments) operation => view;`: the command sends
/// the operation, and prints the response as the view says. Or it is `Name(…) future;`: the command runs the future.
///
/// `Name(…) @last: Arguments, …` puts more shared arguments behind the others: those with a heading of their own. A group
/// that `opens session` does so with the options of `Access`, for each command. A group `in` a session is below a command
/// that has them, and a group `in` a terminal has its own options.
macro_rules! commands {
    (@run $session:ident, $future:expr) => { $future.await };
    (@run $session:ident, $operation:expr, $view:expr) => { $session.show($operation, $view).await };
    (
        $(#[$about:meta])* $visible:vis $group:ident opens $session:ident
        $($(#[$help:meta])* $name:ident($($arguments:tt)*) $run:expr $(=> $view:expr)?;)*
    ) => {
        commands! {
            $(#[$about])* $visible $group in $session: Terminal<'_>,
            $($(#[$help])* $name($($arguments)*) @access: Access, async {
                let $session = &mut Session::open(access, $session)?;
                commands!(@run $session, $run $(, $view)?)
            };)*
        }
    };
    (
        $(#[$about:meta])* $visible:vis $group:ident in $given:ident: $Given:ty,
        $($(#[$help:meta])* $name:ident(
            $($shared:ident: $Shared:ty),* $(; $($(#[$arg:meta])* $own:ident: $Own:ty),*)?
        ) $(@$last:ident: $Last:ty,)? $run:expr $(=> $view:expr)?;)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, clap::Subcommand)]
        $visible enum $group {
            $($(#[$help])* $name {
                $(#[command(flatten)] $shared: $Shared,)*
                $($($(#[$arg])* $own: $Own,)*)?
                $(#[command(flatten)] $last: $Last,)?
            },)*
        }

        impl $group {
            pub(crate) async fn run(self, $given: $Given) -> $crate::failure::Result<()> {
                match self {
                    $(Self::$name { $($shared,)* $($($own,)*)? $($last)? } => {
                        commands!(@run $given, $run $(, $view)?)
                    })*
                }
            }
        }
    };
}

pub(crate) use commands;
