"""What performs the commands: generation, playout, recognition, time taken."""
