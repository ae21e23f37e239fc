pack() { tar -C "$1" -czf "$2" .; }
