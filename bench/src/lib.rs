//! Every published figure, reproduced by one command.
